"""Compares the exported symbols of this library with those of the host's.

  symbols.py HOST_LIBRARY OUR_LIBRARY FGMPI_INFO HOST_FORTRAN_LIBRARY OUR_FORTRAN_LIBRARY SOURCE_FOLDER

This library must export every function and data symbol of the host: data with the same size, MPI_X as a weak alias of PMPI_X.
Every function must be either owned or forwarded, but for those of later.txt, which are pending. Functions that this version of
the host lacks are those of later.txt and those that calls.table marks. The Fortran library must have every symbol of the host's,
so that programs linked with that run, but for those of NOT_FORTRAN.
"""

import re
import subprocess
import sys

failures = []


def check(true, text):
    if not true:
        failures.append(text)


def symbols(library):
    """Returns (address, type letter, size) of each dynamic symbol that the library defines, by name."""
    text = subprocess.run(
        ["nm", "-D", "-S", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        size = int(words[1], 16) if len(words) == 4 else 0
        found[words[-1].split("@")[0]] = (int(words[0], 16), words[-2], size)
    return found


# Symbols of the host's Fortran library that ours does not have.
NOT_FORTRAN = (
    r"MPIR_C_\w+|MPIR_F08_\w+|P?MPI_Status_\w+",  # this library has them
    r"__mpi_\w+_MOD___(copy|def_init|vtab)_\w+",  # what gfortran makes for values of CLASS(*)
    # What only the host's own procedures call.
    r"__mpi_c_interface_\w+", r"__mpi_f08_types_MOD_mpi_\w+_(c2f|f2c)", r"__mpi_f08_types_MOD_mpi_status_\w+_assign_\w+",
    r"__mpi_f08_types_MOD_p?mpi_status_(c2f08|f082c)",
    r"__mpi_(constants|f08_types)_MOD_(mpix_)?stream\w*",  # handles of MPICH's streams
    r"(p?mpix|P?MPIX|p?mpir?|pmpixr)_(gpu|GPU|query|QUERY)_(query|QUERY|\w+)_(support|SUPPORT)\w*",  # extensions for GPUs
)


def base_of(procedure):
    """The C function, in small letters, that a procedure of Fortran stands for."""
    match = re.fullmatch(r"p?mpi(x?)r?_(\w+?)(_c)?(_f08)?(ts)?_*", procedure.lower())
    return f"mpi{match[1]}_{match[2]}" if match else procedure


def check_fortran(theirs, ours, known, pending):
    """Compares the Fortran libraries. `known`: names of this library. `pending`: functions that nobody answers."""
    absent = {base_of(name) for name in pending}
    wanted = {name for name in theirs if not any(re.fullmatch(pattern, name) for pattern in NOT_FORTRAN)
              and base_of(name) not in absent}
    check(len(wanted) > 3500, f"the host's Fortran library: only {len(wanted)} symbols")
    for name in sorted(wanted - ours.keys() - known.keys()):
        check(False, f"{name} of the host's Fortran library is not exported by ours")
    for name in sorted(wanted & ours.keys()):
        if theirs[name][1] in "BDR" and ours[name][1] in "BDR":
            check(theirs[name][2] == ours[name][2], f"{name}: size {ours[name][2]}, the host's {theirs[name][2]}")
    return len(wanted)


def main():
    host_library, our_library, info, host_fortran, our_fortran, source = sys.argv[1:]
    with open(f"{source}/src/host/generate/later.txt") as file:
        later = {symbol for line in file for symbol in line.split("#")[0].split()[1:]}
    with open(f"{source}/src/mpi/calls.table") as file:
        rows = re.sub(r"\n +", " ", file.read()).splitlines()
    marked = {
        re.sub(r"^(X|I)_|^", lambda m: f"MPI{m.group(1) or ''}_", row.split()[0]) + twin
        for row in rows if re.search(r" (only|not)_4_0 ", row) and not row.startswith("#")
        for twin in (("", "_c") if " +c " in row else ("",))
    }
    host, ours = symbols(host_library), symbols(our_library)
    check(len(host) > 1000, f"{host_library}: only {len(host)} symbols")
    functions = [name for name, (_, kind, _) in host.items() if kind in "TWi"]
    data = [name for name in host if name not in functions]
    for name in host:
        if name.startswith("ze"):
            continue  # a function of a library for GPUs, which MPICH 5 stands in front of
        check(name in ours, f"{name} is exported by the host, not by us")
    for name in data:
        if name in ours:
            check(host[name][2] == ours[name][2], f"{name}: size {ours[name][2]}, the host's {host[name][2]}")
    for name in functions:
        if name.startswith(("MPI_", "MPIX_")) and name in ours:
            profiled = ours.get("P" + name)
            check(ours[name][1] == "W", f"{name} is not weak: a profiling tool could not replace it")
            check(profiled and profiled[0] == ours[name][0], f"{name} is not an alias of P{name}")

    table = {}
    text = subprocess.run([info, "-a"], capture_output=True, text=True, check=True).stdout
    for kind, name in re.findall(r"^  (owned|forwarded|pending) +(\w+)$", text, re.M):
        check(name not in table, f"{name} is listed twice: {table.get(name)} and {kind}")
        table[name] = kind
    listed = {name for name in functions if re.match(r"(MPI|MPIX|MPII)_", name)}
    for name in sorted(listed - table.keys()):
        check(False, f"{name} is neither owned nor forwarded nor pending")
    # Before MPICH 5 the Fortran library has these, or no library.
    statuses = {name for name in table if re.fullmatch(r"MPI_Status_\w*f08\w*", name)}
    for name in sorted(table.keys() - listed - later - marked - statuses):
        check(False, f"{name} is listed as {table[name]}, but the host does not export it")

    pending = sorted(name for name, kind in table.items() if kind == "pending")
    for name in pending:
        check(name in later, f"{name} is pending: nobody answers it")
    for name in sorted(later - set(pending)):
        check(False, f"{name} is in later.txt, but not pending")
    procedures = check_fortran(symbols(host_fortran), symbols(our_fortran), ours, pending)
    print(f"{len(host)} symbols of the host, {len(table)} functions, {len(pending)} of them pending; {procedures} symbols of Fortran")
    if failures:
        print("\n".join(failures))
        sys.exit(1)


main()
