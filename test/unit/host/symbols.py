"""Compares the exported symbols of this library with those of the host's.

  symbols.py HOST_LIBRARY OUR_LIBRARY FGMPI_INFO HOST_FORTRAN_LIBRARY SOURCE_FOLDER

This library must export every function and data symbol of the host: data with the same size, MPI_X as a weak alias of PMPI_X.
Every function must be either owned or forwarded, but for those of later.txt, which are pending. Functions that this version of
the host lacks are those of later.txt and those that calls.table marks. It must also export the procedures of the host's Fortran
library that src/fortran replaces: those with choice buffers, and those that return indices.
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


# Procedures with a choice buffer that use only its address.
ADDRESSES = {"f_sync_reg", "free_mem", "get_address", "win_detach"}
INDICES = r"p?mpi_(wait|test)(any|some)_{0,2}|p?mpir?_(wait|test)(any|some)_f08_|P?MPI_(WAIT|TEST)(ANY|SOME)"


def check_fortran(library, ours, later, marked):
    theirs = symbols(library)
    wanted = {name for name in theirs if re.fullmatch(INDICES, name)}
    for name in theirs:
        match = re.fullmatch(r"p?mpir?_(\w+?)_f08ts_(large_)?", name)
        call = match and "MPI_" + match.group(1).removesuffix("_c").capitalize()
        if match and match.group(1) not in ADDRESSES and call not in later:
            wanted.add(name)
    procedures = {name for name in ours if re.fullmatch(INDICES, name) or re.match(r"p?mpir?_\w+_f08", name)}
    check(len(wanted) > 400, f"{library}: only {len(wanted)} procedures with choice buffers or indices")
    for name in sorted(wanted - procedures):
        check(False, f"{name} of {library} is not exported by us")
    # The names of other versions of MPICH are exported, too.
    for name in sorted(procedures - wanted):
        match = re.fullmatch(r"p?mpir?_(\w+?)(_c)?_f08ts_(large_)?", name)
        if match and "MPI_" + match.group(1).capitalize() in marked:
            continue
        plain = re.sub(r"_c_f08ts_$|_f08ts_large_$", "_f08ts_", name)
        spellings = {plain, name.lower().rstrip("_") + "_"}
        check(spellings & wanted, f"{name} is exported by us, but {library} has no such procedure to be put in front of")
    return len(wanted)


def main():
    host_library, our_library, info, fortran_library, source = sys.argv[1:]
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
    procedures = check_fortran(fortran_library, ours, later, marked)
    print(f"{len(host)} symbols of the host, {len(table)} functions, {len(pending)} of them pending; {procedures} procedures")
    if failures:
        print("\n".join(failures))
        sys.exit(1)


main()
