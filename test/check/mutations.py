#!/usr/bin/env python3
"""Seeds one mistake at a time into the examples and says how many mpiexec -check finds.

  mutations.py BIN EXAMPLES [--ranks N] [--processes P] [--jobs N]

EXAMPLES: the folder with the sources (C). A mistake: a wait is dropped, a free is dropped, or a type, a tag, a root, a count
of one call is changed for the odd ranks, or, where nothing is seen of that, for the even ones: the call may be theirs alone.
Printed are, by mistake, how many were seeded, found (a finding that is no note),
and, of those not found, how many changed the exit status or made the job hang. One that changes nothing that MPI sees, such
as a count in both calls of a pair, is not found and is right.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

CALL = re.compile(r"MPI_\w+\s*\((?:[^()]|\([^()]*\))*\)")
ODD = "({ int odd_; MPI_Comm_rank(MPI_COMM_WORLD, &odd_); odd_ & 1; })"
EVEN = ODD.replace("odd_ & 1", "!(odd_ & 1)")


def arguments_of(call):
    inside = call[call.index("(") + 1 : -1]
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(inside):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(inside[begin:i])
            begin = i + 1
    return parts + [inside[begin:]]


def mutants(text):
    """(mistake, line, text of the program) for each place."""
    for match in CALL.finditer(text):
        call, name = match.group(), match.group().split("(")[0].strip()
        line = text.count("\n", 0, match.start()) + 1

        def changed(mistake, new):
            return mistake, line, text[: match.start()] + new + text[match.end() :]

        if re.match(r"MPI_Wait", name):
            yield changed("dropped wait", "(void)0")
        if re.match(r"MPI_\w+_free$", name):
            yield changed("dropped free", "(void)0")
        parts = arguments_of(call)
        kind = name[4:].lower().lstrip("i")
        for i, part in enumerate(parts):
            word = part.strip()
            if word in ("MPI_INT", "MPI_DOUBLE") and not re.search("type|win|op_", kind):
                other = "MPI_FLOAT" if word == "MPI_INT" else "MPI_LONG"
                yield changed("type", f"{name}({','.join(parts[:i] + [f' {ODD} ? {other} : {word}'] + parts[i + 1:])})")
                if i > 0 and kind != "file_write_at":
                    count = f" ({parts[i - 1].strip()}) - ({ODD} && ({parts[i - 1].strip()}) > 0)"
                    yield changed("count", f"{name}({','.join(parts[:i - 1] + [count] + parts[i:])})")
                break
        if re.match(r"(send|recv|s?send|bsend)$", kind) and len(parts) >= 6:
            yield changed("tag", f"{name}({','.join(parts[:4] + [f' ({parts[4].strip()}) + {ODD}'] + parts[5:])})")
        if kind in ("bcast", "gather", "scatter", "reduce", "gatherv", "scatterv"):
            at = {"bcast": 3, "reduce": 5, "gather": 6, "scatter": 6, "gatherv": 7, "scatterv": 7}[kind]
            yield changed("root", f"{name}({','.join(parts[:at] + [f' ({parts[at].strip()}) + {ODD}'] + parts[at + 1:])})")


def run(arguments, source, mistake, line, text):
    """What is seen where odd ranks are wrong, or else where even ones are."""
    how = run_once(arguments, text)
    return run_once(arguments, text.replace(ODD, EVEN)) if how == "nothing" and ODD in text else how


def run_once(arguments, text):
    """"found", "fails", "hangs", "nothing" or "" (does not compile)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.c")
        with open(path, "w") as file:
            file.write(text)
        program = os.path.join(folder, "program")
        compiled = subprocess.run([f"{arguments.bin}/mpicc", "-g", "-O1", "-w", "-fopenmp", path, "-o", program, "-lm"],
                                  capture_output=True)
        if compiled.returncode:
            return ""
        try:
            done = subprocess.run([f"{arguments.bin}/mpiexec", "-check", "-n", arguments.processes, "-nfg", arguments.ranks, program],
                                  capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL, cwd=folder)
        except subprocess.TimeoutExpired:
            return "hangs"
        return "found" if done.returncode == 86 else "fails" if done.returncode else "nothing"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("examples")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--processes", default="1")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)  # the programs run in folders of their own
    work = []
    for folder, _, files in os.walk(arguments.examples):
        for name in sorted(files):
            if name.endswith(".c"):
                path = os.path.join(folder, name)
                with open(path) as file:
                    work += [(path, *mutant) for mutant in mutants(file.read())]
    table = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (path, mistake, line, _), how in zip(work, pool.map(lambda w: run(arguments, *w), work)):
            if how:
                counts = table.setdefault(mistake, {"found": 0, "fails": 0, "hangs": 0, "nothing": 0})
                counts[how] += 1
            if how and how != "found":
                print(f"{os.path.basename(path)}:{line}: {mistake}: {how}")
    print(f"{'mistake':<14} {'seeded':>7} {'found':>7} {'fails':>7} {'hangs':>7} {'nothing':>8}")
    for mistake, c in sorted(table.items()):
        print(f"{mistake:<14} {sum(c.values()):>7} {c['found']:>7} {c['fails']:>7} {c['hangs']:>7} {c['nothing']:>8}")
    sys.exit(0)


main()
