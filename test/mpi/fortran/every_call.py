#!/usr/bin/env python3
"""Writes a program that calls every procedure of one of Fortran's bindings, and C functions in place of MPI's.

  every_call.py mpif|mpi|mpi_f08 MPI|PMPI FOLDER

FOLDER/calls.f90, FOLDER/answers.c. The C functions are linked into the program. They check that each argument is what C's caller
would have passed, and return values that the program checks to be what Fortran's caller is to get:
  numbers      argument i is 1000 + i, or beyond 32 bits where its type allows; a length is 2; logicals are .true.
  arrays       elements 2000 + 10 * i + 1, + 2
  results      5000 + 10 * i, + 1; 6 for logicals; 1 for indices
  buffers      the first integer is 7000 + i, and becomes 8000 + i
  strings      "text I", with blanks behind it in Fortran; results "result I"
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "..", "src")
sys.path.insert(0, os.path.join(SOURCE, "mpichfort", "generate"))
import fortran  # noqa: E402
import modules  # noqa: E402
from fortran import BUFFERS, base_name, ctype, is_large  # noqa: E402

binding, prefix, folder = sys.argv[1:]
f08 = binding == "mpi_f08"
# Calls with functions of the program (callbacks.py), and those whose values libmpichfort passes by internal functions (attributes.sh).
ELSEWHERE = set("""Keyval_create Attr_get Attr_put Comm_get_attr Comm_set_attr Type_get_attr Type_set_attr Win_get_attr Win_set_attr
    Wtime Wtick Aint_add Aint_diff Pcontrol Buffer_detach""".split())
INDEX = {"Waitany": "indx", "Testany": "indx", "Request_get_status_any": "indx", "Waitsome": "array_of_indices",
         "Testsome": "array_of_indices", "Request_get_status_some": "array_of_indices"}
ERROR = 17
HANDLE = re.compile(r"MPI_(Comm|Datatype|Errhandler|File|Group|Info|Message|Op|Request|Session|Win)\b")


def lengths(call):
    return {word for p in call.parameters for word in p.length if p.kind.name not in BUFFERS} | {"count", "incount", "maxprocs"} & {
        p.name for p in call.parameters if call.name in ("Comm_spawn_multiple",)}


def wide(call, p):
    c = ctype(call, p).rstrip("*")
    plain = base_name(call) in fortran.PLAIN_ADDRESSES and c == "MPI_Aint"
    return c in ("MPI_Aint", "MPI_Count", "MPI_Offset") and not plain


class Case:
    """A parameter in one call: Fortran's declaration, what is done before and after the call, and what C does with it."""

    def __init__(self, call, p, i):
        self.name = f"a{i}"
        c, kind = ctype(call, p), p.kind
        base, pointer = c.rstrip("*"), c.endswith("*")
        self.before, self.after, self.check, self.answer = [], [], [], []
        n = p.name
        several = bool(p.length) and kind.name not in BUFFERS or kind.name == "ranges"
        match = HANDLE.match(base)
        kind_of = "integer(MPI_COUNT_KIND)" if wide(call, p) else "integer"
        more = (1 << 40) if wide(call, p) else 0
        number, first = 1000 + i + more, 2000 + 10 * i + more
        suffix = "_8" if wide(call, p) else ""
        if kind.name in BUFFERS:
            self.type = "integer"
            self.before = [f"{self.name} = {7000 + i}"]
            self.check = [f"*(const int*){n} == {7000 + i}"]
            self.answer = [f"*(int*){n} = {8000 + i};"]
            self.after = [f"{self.name} == {8000 + i}"]
        elif kind.name in ("string", "out_string"):
            self.type = "character(len=24)"
            self.before = [f"{self.name} = 'text {i}'"]
            if kind.name == "string":
                self.check = [f'strcmp({n}, "text {i}") == 0']
            else:
                self.answer = [f'strcpy({n}, "result {i}");']
                self.after = [f"{self.name} == 'result {i}'"]
        elif kind.name == "strings":
            self.type = "character(len=8)"
            self.name += "(3)"
            self.before = [f"a{i}(1) = 'one'", f"a{i}(2) = ' two'", f"a{i}(3) = ' '"]
            self.check = [f'strcmp({n}[0], "one") == 0', f'strcmp({n}[1], "two") == 0'] + ([] if call.name != "Comm_spawn" else [f"!{n}[2]"])
        elif kind.name == "string_lists":
            self.type = "character(len=8)"
            self.name += "(2,3)"
            self.before = [f"a{i}(:,1) = ['1a', '2a']", f"a{i}(:,2) = ['1b', '  ']", f"a{i}(:,3) = ' '"]
            self.check = [f'strcmp({n}[0][0], "1a") == 0', f'strcmp({n}[0][1], "1b") == 0', f"!{n}[0][2]", f'strcmp({n}[1][0], "2a") == 0',
                          f"!{n}[1][1]"]
        elif kind.name == "out_pointer":
            self.type = "type(c_ptr)" if f08 else "integer(MPI_ADDRESS_KIND)"
            self.answer = [f"*(void**){n} = (void*)0x12345678;"]
            got = f"transfer({self.name}, 0_8)" if f08 else self.name
            self.after = [f"{got} == int(z'12345678', 8)"]
        elif kind.abi in ("status", "statuses"):
            count = 2 if kind.abi == "statuses" else 1
            self.type = "type(MPI_Status)" if f08 else "integer"
            self.name += f"({count})" if f08 else f"(MPI_STATUS_SIZE,{count})"
            fields = (("MPI_SOURCE", 61), ("MPI_TAG", 62), ("MPI_ERROR", 63))
            for k in range(1, count + 1):
                for field, value in fields:
                    at = f"a{i}({k})%{field}" if f08 else f"a{i}({field},{k})"
                    self.element(kind.intent, at, f"{n}[{k - 1}].{field}", value + 10 * k, value + 100 * k)
        elif match:
            value = "%MPI_VAL" if f08 else ""
            self.type = f"type({match.group(0)})" if f08 else "integer"
            if several:
                self.name += "(2)"
                for k in (1, 2):
                    self.element(kind.intent, f"a{i}({k}){value}", f"{n}[{k - 1}]", first + k, 5000 + first + k)
            else:
                as_c = "(MPI_File)%dL" if base == "MPI_File" else "%d"
                self.element(kind.intent, self.name + value, "*" + n if pointer else n, number, 5000 + i, as_c=as_c)
        elif kind.name == "ranges":
            self.type = "integer"
            self.name += "(3,2)"
            self.before = [f"a{i}(:,1) = [1, 2, 3]", f"a{i}(:,2) = [4, 5, 6]"]
            self.check = [f"{n}[0][2] == 3", f"{n}[1][0] == 4"]
        elif fortran.is_logical(call, p):
            self.type = "logical"
            if several:
                self.name += "(2)"
                if kind.intent == "in":
                    self.before, self.check = [f"a{i} = [.true., .false.]"], [f"{n}[0] && !{n}[1]"]
                else:
                    self.answer, self.after = [f"{n}[0] = 1; {n}[1] = 0;"], [f"a{i}(1)", f".not. a{i}(2)"]
            elif kind.intent == "in":
                self.before, self.check = [f"{self.name} = .true."], [n]
            else:
                stored = f"*(int*){n} = 1;" if kind.name == "out_logical" else f"*{n} = 6;"
                self.answer, self.after = [stored], [f"(transfer({self.name}, 0) == 1)"]
        elif several:
            self.type = kind_of
            self.name += "(2)"
            index = INDEX.get(call.name) == n
            for k in (1, 2):
                self.element(kind.intent, f"a{i}({k})", f"{n}[{k - 1}]", first + k, k if index else 5000 + first + k, suffix, index)
        else:
            self.type = kind_of
            length = n in lengths(call)
            value = 2 if length else number
            at = "*" + n if pointer else n
            with_null = n in ("buflen", "pset_len")  # C's counts the null
            if with_null:
                value = 20
            if call.name == "Info_get" and n == "valuelen":
                value = 20
            index = INDEX.get(call.name) == n
            result = 1 if index else 2 if n == "outcount" else 31 if with_null else 5000 + i + more
            self.element(kind.intent, self.name, at, value, result, suffix, index, null=with_null)


    def element(self, intent, name, name_in_c, given, result, suffix="", index=False, null=False, as_c="%d"):
        """One number that the call is given and returns, under its names in Fortran and in C. In Fortran it has the suffix of its
        kind, an index is larger by one, and a length with a null is smaller by one."""
        if intent != "out":
            self.before.append(f"{name} = {given}{suffix}")
            self.check.append(f"{name_in_c} == {as_c % (given + null)}")
        if intent != "in":
            self.answer.append(f"{name_in_c} = {as_c % result};")
            self.after.append(f"{name} == {result + index - null}{suffix}")


def c_parameter(call, p):
    c = ctype(call, p)
    if p.kind.name == "ranges":
        return f"int (*{p.name})[3]"
    if p.kind.name == "callback":
        return f"void* {p.name}"
    return f"{c} {p.name}"


def c_function(call):
    cases = {p.name: Case(call, p, i) for i, p in enumerate(call.parameters, 1) if p.kind.name not in ("callback", "state")}
    # The function has another name in C, since mpi.h declares parameters const.
    head = f"int answer_{call.symbol[4:]}({', '.join(c_parameter(call, p) for p in call.parameters) or 'void'})"
    lines = [f'{head} __asm__("{prefix}_{call.symbol[4:]}");', f"{head} {{",
             f'  begin("{call.symbol}");']
    shown = [p.name for p in fortran.parameters(call)]
    for p in call.parameters:
        if p.name in cases and p.name in shown:
            lines += [f'  check(!!({condition}), "{p.name}");' for condition in cases[p.name].check]
            lines += [f"  {answer}" for answer in cases[p.name].answer]
    return [*lines, f"  return {ERROR};", "}"]


def fortran_call(call, number, without_error=False):
    cases = [Case(call, p, i) for i, p in enumerate(call.parameters, 1) if p in fortran.parameters(call)]
    generic = f"{prefix}_{base_name(call)}" if f08 else f"{prefix}_{call.name}"
    if f08 and is_large(call) and base_name(call) in fortran.NAMED_LARGE:
        generic += "_c"
    names = [re.sub(r"\(.*", "", c.name) for c in cases]
    single = [n + ("(1)" if f08 and c.type == "type(MPI_Status)" and c.name.endswith("(1)") else "") for n, c in zip(names, cases)]
    arguments = ", ".join(single + ([] if without_error else ["ierr"]))
    lines = [f"subroutine call_{number}()", "  integer :: ierr"]
    lines += [f"  {c.type} :: {c.name}" for c in cases]
    lines += [f"  {line}" for c in cases for line in c.before]
    lines += ["  ierr = 0", modules.broken(f"  call {generic}({arguments})", 110)]
    if f08 and not without_error:
        lines.append(f"  if (ierr /= {ERROR}) call wrong('{generic}', 'ierror')")
    elif not without_error:
        lines.append(f"  if (ierr /= {ERROR}) call wrong('{generic}', 'ierror')")
    lines += [f"  if (.not. ({condition})) call wrong('{generic}', '{re.sub(chr(39), '', c.name)}')" for c in cases for condition in c.after]
    lines += [f"  call called('{call.symbol}')", "end subroutine"]
    return lines


ANSWERS = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char* current = "";
static int failures, calls;
static void begin(const char* name) { current = name; ++calls; }
static void check(int ok, const char* what) {
  if (ok) return;
  ++failures;
  printf("%s: C gets a wrong %s\\n", current, what);
}
void wrong_answer(const char* call, const char* what) {
  ++failures;
  printf("%s: Fortran gets a wrong %s\\n", call, what);
}
void was_called(const char* call) {
  if (strcmp(call, current) != 0) { ++failures; printf("%s: %s was called\\n", call, current); }
  current = "";
}
int the_end(int expected) {
  if (calls != expected) { ++failures; printf("%d of %d calls\\n", calls, expected); }
  if (failures == 0) printf(" No Errors\\n");
  return failures != 0;
}
MPI_File file_of(MPI_Fint number) __asm__("MPI_File_f2c");
MPI_File file_of(MPI_Fint number) { return (MPI_File)(long)number; }
MPI_Fint number_of(MPI_File file) __asm__("MPI_File_c2f");
MPI_Fint number_of(MPI_File file) { return (MPI_Fint)(long)file; }
"""
HELPERS = """\
module answers
  use iso_c_binding
  interface
    subroutine wrong_answer(call, what) bind(c)
      import
      character(kind=c_char) :: call(*), what(*)
    end subroutine
    subroutine was_called(call) bind(c)
      import
      character(kind=c_char) :: call(*)
    end subroutine
    integer(c_int) function the_end(expected) bind(c)
      import
      integer(c_int), value :: expected
    end function
  end interface
contains
  subroutine wrong(call, what)
    character(*), intent(in) :: call, what
    call wrong_answer(call // c_null_char, what // c_null_char)
  end subroutine
  subroutine called(call)
    character(*), intent(in) :: call
    call was_called(call // c_null_char)
  end subroutine
end module
"""


def main():
    _, calls = fortran.fortran_calls(os.path.join(SOURCE, "mpi", "calls.table"))
    generic = modules.generics(calls)
    chosen = []
    for call in calls:
        if base_name(call) in ELSEWHERE or any(p.kind.name in ("callback", "state") for p in call.parameters) or not fortran.has_error(call):
            continue
        if call.name.startswith("X_") or (is_large(call) or call.name in fortran.NOT_F08) and not f08 and is_large(call):
            continue
        if f08 and not any(call in found for found in generic.values()):
            continue
        chosen.append(call)
    # One module: compilers read a module again for each unit that uses it.
    lines = [HELPERS, "module calls", "  use answers", f"  use {binding}" if binding != "mpif" else "", "  implicit none",
             "  include 'mpif.h'" if binding == "mpif" else "", "contains"]
    number = 0
    for call in chosen:
        for without_error in ((False, True) if f08 else (False,)):
            number += 1
            lines += fortran_call(call, number, without_error)
    lines += ["end module", "program every_call", "  use calls", "  implicit none", *(f"  call call_{i}()" for i in range(1, number + 1)),
              f"  if (the_end({number}) /= 0) error stop 1", "end program"]
    with open(f"{folder}/calls.f90", "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(f"{folder}/answers.c", "w") as file:
        file.write(ANSWERS + "\n".join(line for call in chosen for line in c_function(call)) + "\n")


if __name__ == "__main__":
    main()
