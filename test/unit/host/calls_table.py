"""Tests that src/mpi/calls.table agrees with mpi.h, and that a table that does not is refused.

  calls_table.py SOURCE_FOLDER HOST_INCLUDE CC

Changes the table in one position at a time; each change must stop the build with an error that names it.
"""

import os
import re
import sys
import tempfile
from types import SimpleNamespace

source, include, cc = sys.argv[1:]
for folder in ("src/mpi/generate", "src/host/generate"):
    sys.path.insert(0, os.path.join(source, folder))
sys.dont_write_bytecode = True

import calls  # noqa: E402
import header  # noqa: E402

TABLE = os.path.join(source, "src/mpi/calls.table")
FUNCTIONS = header.parse_functions(header.preprocessed(SimpleNamespace(cc=cc, include=include)))
failures = []


def verdict(text):
    """Returns None when the table is accepted, else the text of the error."""
    with tempfile.NamedTemporaryFile("w", suffix=".table") as file:
        file.write(text)
        file.flush()
        try:
            kinds, found = calls.read(file.name)
            calls.check(kinds, found, FUNCTIONS)
            calls.check_files(found, os.path.join(source, "src/mpi"))
        except SystemExit as error:
            return str(error.code)
    return None


def refuse(name, pattern, replacement, words):
    text, count = re.subn(pattern, replacement, original, count=1, flags=re.M)
    said = verdict(text)
    if count != 1:
        failures.append(f"{name}: the table has no {pattern}")
    elif said is None or words not in said:
        failures.append(f"{name}: accepted, or without '{words}': {said}")


with open(TABLE) as file:
    original = file.read()
said = verdict(original)
if said:
    failures.append(f"the table itself is refused: {said}")

refuse("a call is there twice", r"^(Comm_size .*)$", r"\1\n\1", "already")
refuse("no such call", r"^(Comm_size .*)$", r"\1\nComm_width (comm) hand misc.cc", "is not in mpi.h")
refuse("no twin", r"^Comm_size ", "Comm_size +c ", "MPI_Comm_size_c is not in mpi.h")
refuse("a parameter is missing", r"^Comm_split \(comm, ", "Comm_split (", "has the parameters")
refuse("another name", r"^Comm_size \(comm, size:", "Comm_size (comm, number:", "has the parameters")
refuse("another type", r"^Comm_size \(comm, size: out_int", "Comm_size (comm, size: out_aint", "is int *")
refuse("no such kind", r"^Comm_size \(comm, size: out_int", "Comm_size (comm, size: integer", "no kind integer")
refuse("const is written", r"^Comm_set_name \(comm, comm_name: string", "Comm_set_name (comm, comm_name: out_string",
       "is const in mpi.h")
refuse("no such sentinel", r"\|proc_null", "|nobody", "no sentinel nobody")
refuse("no such length", r"ranks: ints\(n\)", "ranks: ints(m)", "which is no parameter")
refuse("no such flag", r"^(Wtime \(\) as query) ", r"\1 sometimes ", "no flag sometimes")
refuse("no answer", r"^(Wtime \(\) as query before_init) hand misc.cc", r"\1", "not a call")
refuse("no such role", r"^(Wtime \(\)) as query", r"\1 as clock", "as clock' is no role")
refuse("no such role of a topic", "^topic tools as query", "topic tools as tool", "as tool' is no role")
refuse("no request", r"as matched_probe", "as nonblocking matched_probe", "does not make a request")
refuse("blocking with a request", r"as nonblocking send of", "as send of", "it makes a request")
refuse("no payload", r"^payload Bcast .*\n", "", "there is no payload of Bcast")
refuse("half a payload", r"^payload Barrier \| 0 \| 0", "payload Barrier | 0", "three cells")
refuse("payload of no parameter", r"^payload Scan \| bytes\(count,", "payload Scan | bytes(counts,", "counts is no parameter")
refuse("hand without a file", r"hand misc.cc", "hand", "followed by")
refuse("another file", r"^(Wtime .*) hand misc.cc", r"\1 hand init.cc", "not exported in init.cc")
refuse("generated and by hand", r"^(Wtime .*) hand misc.cc", r"\1 made", "exported by hand")

kinds, found = calls.read(TABLE)
if sum(symbol.startswith("MPI_") for symbol in found) != 702:
    failures.append("the table does not have 702 functions MPI_*")
with open(os.path.join(source, "src/host/generate/later.txt")) as file:
    later = {symbol for line in file for symbol in line.split("#")[0].split()[1:]}
for symbol in sorted(later & set(found)):
    failures.append(f"{symbol} is in the table and in later.txt")
# A function of neither list would be exported only by libraries that were built with this mpi.h.
for symbol in sorted(set(FUNCTIONS) - later - set(found)):
    failures.append(f"{symbol} of mpi.h is neither in calls.table nor in later.txt")
functions = dict(FUNCTIONS)
functions.pop("MPI_Comm_size")
calls.complete(found, functions)
if functions["MPI_Comm_size"].signature("MPI_Comm_size") != "int MPI_Comm_size(MPI_Comm comm, int* size)":
    failures.append(f"prototype of a function that mpi.h lacks: {functions['MPI_Comm_size'].signature('MPI_Comm_size')}")
for failure in failures:
    print(failure)
made = sum(c.answer in ("made", "collective", "direct") for c in found.values())
hand = sum(c.answer == "hand" for c in found.values())
print(f"{len(found)} functions in the table: {made} bindings generated, {hand} by hand")
sys.exit(1 if failures else 0)
