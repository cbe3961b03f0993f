#!/usr/bin/env python3
"""Seeds one mistake at a time into programs and prints how many of them mpiexec -check finds.

  mutations.py BIN FOLDER... [--ranks N] [--processes P] [--jobs N] [--mistake REGEX] [--match REGEX]
               [--arguments NAME=WORDS]... [--access]

FOLDER: a folder with sources in C, such as examples and test/mpi/apps. The mistakes: a wait or a free is dropped, or a call has
the same buffer for sending and receiving; or, on odd ranks, a communication is dropped, or a type, a tag, a source or
destination, a root, an operation, a communicator or a count of one call is changed. If nothing is found then, even ranks make
the mistake instead, since only they may make the call. --match selects files; --arguments gives the arguments of a program;
--access compiles with mpicc -check. The script prints for each mistake how many were seeded and found (a note is no finding),
how many of the others changed the exit status or made the job hang, and how many are in calls that are never made. A mistake
that MPI does not notice, such as a count that both calls of a pair have, is rightly not found. A program that has findings or
fails without mutations is left out.
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
SAYS_SO = '__attribute__((unused)) static int once_; if (!once_++) dprintf(2, "seeded mistake\\n");'
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
    """Yields (mistake, line, text of the program) for each possible mutation."""
    for match in CALL.finditer(text):
        call, name = match.group(), match.group().split("(")[0].strip()
        line = text.count("\n", 0, match.start()) + 1

        def changed(mistake, new):
            return mistake, line, text[: match.start()] + f"({{ {SAYS_SO} {new}; }})" + text[match.end() :]

        if re.match(r"MPI_Wait", name):
            yield changed("dropped wait", "0")
        if re.match(r"MPI_\w+_free$", name):
            yield changed("dropped free", "0")
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
        def replaced(mistake, at, new):
            return changed(mistake, f"{name}({','.join(parts[:at] + [' ' + new] + parts[at + 1:])})")

        collective = re.match(r"(bcast|gatherv?|scatterv?|allgatherv?|alltoall[vw]?|reduce\w*|allreduce|(ex)?scan|barrier)$", kind)
        if collective or re.match(r"(r?recv|[sbr]?send|sendrecv(_replace)?)$", kind):
            yield changed("dropped call", f"({ODD} ? 0 : {call})")
        for i, part in enumerate(parts):
            if part.strip() in ("MPI_SUM", "MPI_MAX", "MPI_MIN") and collective:
                yield replaced("operation", i, f"{ODD} ? MPI_PROD : {part.strip()}")
            if part.strip() == "MPI_COMM_WORLD" and (collective or re.match(r"([sbr]?send|recv)$", kind)):
                yield replaced("communicator", i, f"{ODD} ? MPI_COMM_SELF : MPI_COMM_WORLD")
        if re.match(r"([sbr]?send|recv)$", kind) and len(parts) >= 6 and parts[3].strip() not in ("MPI_PROC_NULL", "MPI_ANY_SOURCE"):
            yield replaced("peer", 3, f"({ODD} ? ({parts[3].strip()}) ^ 1 : ({parts[3].strip()}))")
        into = {"sendrecv": 5, "gather": 3, "allgather": 3, "alltoall": 3, "reduce": 1, "allreduce": 1, "scan": 1, "exscan": 1}.get(kind)
        if into and parts[0].strip() != "MPI_IN_PLACE":
            yield replaced("buffer", into, parts[0].strip())
        if re.match(r"(send|recv|s?send|bsend)$", kind) and len(parts) >= 6:
            yield changed("tag", f"{name}({','.join(parts[:4] + [f' ({parts[4].strip()}) + {ODD}'] + parts[5:])})")
        if kind in ("bcast", "gather", "scatter", "reduce", "gatherv", "scatterv"):
            at = {"bcast": 3, "reduce": 5, "gather": 6, "scatter": 6, "gatherv": 7, "scatterv": 7}[kind]
            yield changed("root", f"{name}({','.join(parts[:at] + [f' ({parts[at].strip()}) + {ODD}'] + parts[at + 1:])})")


def run(arguments, source, mistake, line, text):
    """Returns the result of the program if odd ranks make the mistake; if nothing is found then, that for even ranks."""
    how = run_once(arguments, source, text)
    return run_once(arguments, source, text.replace(ODD, EVEN)) if how in ("nothing", "not run") and ODD in text else how


def run_once(arguments, source, text):
    """Runs a mutated program. Returns "found", "fails", "hangs", "nothing", "not run" or "" (it does not compile)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.c")
        with open(path, "w") as file:
            file.write(text)
        program = os.path.join(folder, "program")
        compiled = subprocess.run([f"{arguments.bin}/mpicc", *(["-check"] if arguments.access else []), "-g", "-O1", "-w", "-fopenmp",
                                   "-I", os.path.dirname(source), "-I", os.path.dirname(os.path.dirname(source)), path, "-o", program, "-lm"],
                                  capture_output=True)
        if compiled.returncode:
            return ""
        try:
            words = next((w for n, _, w in (a.partition("=") for a in arguments.arguments) if n == os.path.splitext(os.path.basename(source))[0]), "")
            done = subprocess.run([f"{arguments.bin}/mpiexec", "-check", "-n", arguments.processes, "-nfg", arguments.ranks, program, *words.split()],
                                  capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL, cwd=folder)
        except subprocess.TimeoutExpired:
            return "hangs"
        if SAYS_SO in text and "seeded mistake" not in done.stderr:
            return "not run"
        return "found" if done.returncode == 86 else "fails" if done.returncode else "nothing"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--mistake", default="")
    parser.add_argument("--match", default="")
    parser.add_argument("--arguments", action="append", default=[], metavar="NAME=WORDS")
    parser.add_argument("--access", action="store_true")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--processes", default="1")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)  # the programs run in folders of their own
    work = []
    for folder, _, files in (entry for top in arguments.folders for entry in os.walk(os.path.abspath(top))):
        for name in sorted(files):
            if name.endswith(".c") and re.search(arguments.match, name):
                path = os.path.join(folder, name)
                with open(path) as file:
                    work += [(path, *mutant) for mutant in mutants(file.read()) if re.search(arguments.mistake, mutant[0])]
    for path in dict.fromkeys(path for path, *_ in work):
        with open(path) as file:
            how = run_once(arguments, path, file.read())
        if how != "nothing":
            print(f"{os.path.basename(path)}: left out, as it is: {how or 'does not compile'}", flush=True)
            work = [w for w in work if w[0] != path]
    table = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (path, mistake, line, _), how in zip(work, pool.map(lambda w: run(arguments, *w), work)):
            if how:
                counts = table.setdefault(mistake, {"found": 0, "fails": 0, "hangs": 0, "nothing": 0, "not run": 0})
                counts[how] += 1
            if how and how != "found":
                print(f"{os.path.basename(path)}:{line}: {mistake}: {how}")
    print(f"{'mistake':<14} {'seeded':>7} {'found':>7} {'fails':>7} {'hangs':>7} {'nothing':>8} {'not run':>8}")
    for mistake, c in sorted(table.items()):
        print(f"{mistake:<14} {sum(c.values()):>7} {c['found']:>7} {c['fails']:>7} {c['hangs']:>7} {c['nothing']:>8} {c['not run']:>8}")
    sys.exit(0)


main()
