#!/usr/bin/env python3
"""Explores the checker's corpus (test/check/corpus.py) and says how much of it is found and explored to the end.

  corpus.py BIN FOLDER [--every N] [--ranks N] [--seconds N] [--kind KIND] [--jobs N]

FOLDER holds what test/check/corpus.py has made, compiled. A wrong program counts as found when there is any finding or note, a
race also when several orders are tried and lead to the same, a correct twin as right when there is none, each as explored when
mpiexec says so within the given seconds. --every N takes each N-th case. The status is 0 when all is found and right, and at
least 95 of 100 programs are explored.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile


def run(arguments, case, twin):
    """(as it should be, explored to the end, what was said)"""
    number, program, kind, name, _ = case
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.abspath(f"{arguments.bin}/mpiexec"), f"-explore={arguments.seconds}s", "-n", str(arguments.ranks),
                   os.path.abspath(f"{arguments.folder}/{program}"), number, twin]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.seconds + 120, cwd=folder,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return False, False, "does not end"
    said = re.search(r"^fgmpi: explore: \d+ execution.*$", done.stderr, re.M)
    if not said:
        return False, False, done.stderr[-800:]
    explored = said.group().endswith(": all executions explored")
    noted = " (note): " in done.stderr
    found = done.returncode == 86 or noted or (kind == "races" and not said.group().startswith("fgmpi: explore: 1 execution,"))
    good = found if twin == "wrong" else done.returncode == 0 and not noted
    return good, explored, done.stderr[-800:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--kind", default="")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    with open(f"{arguments.folder}/corpus.txt") as file:
        cases = [line.rstrip("\n").split("\t") for line in file]
    cases = [c for c in cases if arguments.kind in ("", c[2])][:: arguments.every]
    runs = [(case, twin) for case in cases for twin in ("wrong", "right")]
    table, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (case, twin), (good, explored, said) in zip(runs, pool.map(lambda r: run(arguments, *r), runs)):
            counts = table.setdefault(case[2], {"wrong": [0, 0, 0], "right": [0, 0, 0]})[twin]
            for i, of in enumerate((good, explored, True)):
                counts[i] += of
            if not (good and explored):
                failures.append(f"{case[1]} {case[0]} {twin} ({case[3]}): {'' if good else 'NOT AS IT SHOULD BE '}{said}")
    table["all"] = {twin: [sum(of[twin][i] for of in table.values()) for i in range(3)] for twin in ("wrong", "right")}
    print(f"{'kind':<12} {'programs':>8} {'found':>8} {'right':>8} {'explored':>9}")
    for kind, counts in table.items():
        wrong, right = counts["wrong"], counts["right"]
        print(f"{kind:<12} {wrong[2] + right[2]:>8} {wrong[0] / wrong[2]:>8.3f} {right[0] / right[2]:>8.3f} "
              f"{(wrong[1] + right[1]) / (wrong[2] + right[2]):>9.3f}")
    for failure in failures:
        print("LEFT:", failure)
    wrong, right = table["all"]["wrong"], table["all"]["right"]
    good = wrong[0] == wrong[2] and right[0] == right[2]
    sys.exit(0 if good and wrong[1] + right[1] >= 0.95 * (wrong[2] + right[2]) else 1)


main()
