"""Compares what our library exports with what the host exports.

  symbols.py HOST_LIBRARY OUR_LIBRARY FGMPI_INFO

Every function and data symbol of the host must be there, data in the same size, MPI_X as a weak alias of
PMPI_X; and every function is exactly one of owned and forwarded; none is pending.
"""

import re
import subprocess
import sys

failures = []


def check(true, text):
    if not true:
        failures.append(text)


def symbols(library):
    """name -> (address, type letter, size) of the dynamic symbols that the library defines."""
    text = subprocess.run(
        ["nm", "-D", "-S", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        size = int(words[1], 16) if len(words) == 4 else 0
        found[words[-1].split("@")[0]] = (int(words[0], 16), words[-2], size)
    return found


def main():
    host_library, our_library, info = sys.argv[1:]
    host, ours = symbols(host_library), symbols(our_library)
    check(len(host) > 1000, f"{host_library}: only {len(host)} symbols")
    functions = [name for name, (_, kind, _) in host.items() if kind in "TWi"]
    data = [name for name in host if name not in functions]
    for name in host:
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
    for name in sorted(table.keys() - listed):
        check(False, f"{name} is listed as {table[name]}, but the host does not export it")

    pending = sorted(name for name, kind in table.items() if kind == "pending")
    for name in pending:
        check(False, f"{name} is pending: nobody answers it")
    print(f"{len(host)} symbols of the host, {len(table)} functions, {len(pending)} of them pending")
    if failures:
        print("\n".join(failures))
        sys.exit(1)


main()
