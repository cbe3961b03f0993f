#!/usr/bin/env python3
"""Runs the corpus of the checker and prints how many of its mistakes are found.

  run.py BIN FOLDER [--every N] [--shapes CxP,...] [--kind KIND] [--program PROGRAM] [--match REGEX]
         [--after N] [--both-ways SEED] [--jobs N]

FOLDER has the compiled programs of corpus.py. A wrong program counts as found when a finding of its kind has a call at one of
its marked lines, or calls at all of them if the case demands that; a correct twin counts as right when it has no finding and
ends with status 0. --every N runs each N-th case, different ones at each shape; --after N runs the correct twin N times before,
in the same job. --both-ways SEED draws one in N cases (--every) and a number of repetitions for each, and runs it twice: as
users do, and with FGMPI_CHECK_REPEATED=off, where no call takes the shorter path for calls that a rank has made before. The findings
must be the same. The script prints recall, specificity and accuracy by kind; the status is 0 when all mistakes are found and all
twins are right.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile


def findings_of(arguments, shape, case, twin, after, repeated):
    """Returns what is found in a case, in an order that does not depend on the run."""
    ranks, processes = shape.split("x")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        subprocess.run([f"{arguments.bin}/mpiexec", "-check", "-check-report", report, "-n", processes, "-nfg", ranks,
                        f"{arguments.folder}/{case[1]}", case[0], twin, str(after)], capture_output=True, timeout=60,
                       stdin=subprocess.DEVNULL, env=dict(os.environ, FGMPI_CHECK_REPEATED=repeated))
        with open(report) as file:
            findings = json.load(file)["findings"]
    return sorted({(f["kind"], f["level"], *sorted({f"{c['call']} line {c.get('line')}" for c in f["calls"]})) for f in findings})


def both_ways(arguments, shape, case, twin, after):
    """Returns None when a case has the same findings with and without the path of repeated calls, else what differs."""
    try:
        on, off = (findings_of(arguments, shape, case, twin, after, way) for way in ("on", "off"))
    except (subprocess.TimeoutExpired, OSError, ValueError) as wrong:
        return f"no report: {wrong}"
    return None if on == off else f"after {after}: on: {on}; off: {off}"


def compare_both_ways(arguments, cases):
    draw = random.Random(arguments.both_ways)
    shapes = arguments.shapes.split(",")
    runs = [(draw.choice(shapes), case, draw.choice(("wrong", "wrong", "right")), draw.randint(1, 6))
            for case in draw.sample(cases, len(cases) // arguments.every)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        different = [f"FAILED: {case[1]} {case[0]} {twin} at {shape} ({case[3]}): {why}" for (shape, case, twin, _), why
                     in zip(runs, pool.map(lambda r: both_ways(arguments, *r), runs)) if why]
    print("\n".join([*different, f"{len(runs)} programs both ways, {len(different)} with other findings"]))
    sys.exit(1 if different or not runs else 0)


def run(arguments, shape, case, twin):
    """Returns None when a result is the expected one, else the reason."""
    number, program, kind, name, lines = case
    ranks, processes = shape.split("x")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [f"{arguments.bin}/mpiexec", "-check", "-check-report", report, "-n", processes, "-nfg", ranks,
                   f"{arguments.folder}/{program}", number, twin, str(arguments.after)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "does not end"
        try:
            with open(report) as file:
                findings = json.load(file)["findings"]
        except (OSError, ValueError) as wrong:
            return f"report: {wrong}: {done.stderr[:300]}"
    if twin == "right":
        # Programs that depend on buffering may race as well.
        findings = [f for f in findings if f["level"] != "note" or kind != "buffering"]
        return None if done.returncode == 0 and not findings else f"status {done.returncode}: {done.stderr[:600]}"
    if done.returncode != (86 if any(f["level"] != "note" for f in findings) else 0):
        return f"status {done.returncode}: {done.stderr[:300]}"
    for finding in findings:
        named = {str(call.get("line")) for call in finding["calls"]}
        if finding["kind"] == kind and (named.issuperset(lines.split("+")) or named.intersection(lines.split(","))):
            return None
    return f"not named: {done.stderr[:600]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--shapes", default="4x1,1x4,2x2")
    parser.add_argument("--kind", default="")
    parser.add_argument("--program", default="")
    parser.add_argument("--match", default="", help="in the name of a case")
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--both-ways", type=int, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with open(f"{arguments.folder}/corpus.txt") as file:
        cases = [line.rstrip("\n").split("\t") for line in file]
    cases = [c for c in cases if arguments.kind in ("", c[2]) and arguments.program in ("", c[1])
             and re.search(arguments.match, c[3])]
    if arguments.both_ways is not None:
        compare_both_ways(arguments, cases)
    runs = [(shape, case, twin) for i, shape in enumerate(arguments.shapes.split(","))
            for case in cases[i % arguments.every :: arguments.every] for twin in ("wrong", "right")]
    table, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (shape, case, twin), why in zip(runs, pool.map(lambda r: run(arguments, *r), runs)):
            counts = table.setdefault(case[2], {"wrong": [0, 0], "right": [0, 0]})[twin]
            counts[0] += why is None
            counts[1] += 1
            if why:
                failures.append(f"{case[1]} {case[0]} {twin} at {shape} ({case[3]}): {why}")
    print(f"{'kind':<12} {'runs':>6} {'recall':>8} {'specificity':>12} {'accuracy':>9}")
    total = {"wrong": [0, 0], "right": [0, 0]}
    for kind, counts in [*sorted(table.items()), ("all", total)]:
        (found, wrong), (right, correct) = counts["wrong"], counts["right"]
        print(f"{kind:<12} {wrong + correct:>6} {found / wrong:>8.3f} {right / correct:>12.3f} "
              f"{(found + right) / (wrong + correct):>9.3f}")
        for twin in total if kind != "all" else ():
            total[twin] = [x + y for x, y in zip(total[twin], counts[twin])]
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


main()
