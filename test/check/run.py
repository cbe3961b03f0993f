#!/usr/bin/env python3
"""Runs the corpus of the checker and prints how many of its mistakes are found.

  run.py BIN FOLDER [--every N] [--shapes CxP,...] [--kind KIND] [--program PROGRAM] [--match REGEX]
         [--after N] [--both-ways SEED] [--jobs N]

FOLDER has the compiled programs of corpus.py. A wrong program counts as found when a finding of its kind has a call at one of
its marked lines, or calls at all of them if the case demands that; a correct twin counts as right when it has no finding and
ends with status 0. --every N runs each N-th case, different ones at each shape; --after N runs the correct twin N times before,
in the same job. The script prints recall, specificity and accuracy by kind; the status is 0 when all mistakes are found and all
twins are right.

--both-ways SEED draws one in N cases (--every) and a number of repetitions for each, and runs it twice: as users do, and with
FGMPI_CHECK_REPEATED=off, where no call takes the shorter path for calls that a rank has made before. The findings must be the
same. The same is done with loops drawn at random (repeated.c), which make a mistake for each rule of such calls.
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


def checked(arguments, shape, program, given, **environment):
    """Runs a program under the checker; returns its status, what it has written to stderr, and the findings of the report."""
    ranks, processes = shape.split("x")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = subprocess.run([f"{arguments.bin}/mpiexec", "-check", "-check-report", report, "-n", processes, "-nfg", ranks,
                               f"{arguments.folder}/{program}", *map(str, given)], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, **environment))
        try:
            with open(report) as file:
                return done.returncode, done.stderr, json.load(file)["findings"]
        except (OSError, ValueError) as wrong:
            raise NoReport(f"report: {wrong}: {done.stderr[:300]}") from wrong


class NoReport(Exception):
    pass


def findings_of(arguments, shape, program, given, repeated):
    """Returns what is found in a program, in an order that does not depend on the run."""
    _, _, findings = checked(arguments, shape, program, given, FGMPI_CHECK_REPEATED=repeated)
    return sorted({(f["kind"], f["level"], *sorted({f"{c['call']} line {c.get('line')}" for c in f["calls"]})) for f in findings})


def both_ways(arguments, shape, program, given, wrong):
    """Returns None when a program has the same findings with and without the path of repeated calls, else what differs. Where
    `wrong` is known, there must be some, or none."""
    try:
        on, off = (findings_of(arguments, shape, program, given, way) for way in ("on", "off"))
    except (subprocess.TimeoutExpired, NoReport) as failed:
        return str(failed)
    if wrong is not None and wrong != bool(off):
        return f"found: {off}"
    return None if on == off else f"on: {on}; off: {off}"


def table_of_rules():
    """Returns the names of all rules (src/check/rules.def), and of those that need a program of repeated.c: the path of repeated
    calls runs them, or skips them because they depend on arguments alone."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/check")
    with open(f"{folder}/rules.def") as file:
        rules = dict(re.findall(r"^FGMPI_CHECK_RULE\((\w+), \w+, (\w+)", file.read(), re.M))
    needed = {rule for rule, depends in rules.items() if depends == "kArguments"}
    for name in sorted(os.listdir(f"{folder}/repeated")):
        with open(f"{folder}/repeated/{name}") as file:
            needed.update(re.findall(r"\bkRule_(\w+)", file.read()))
    return set(rules), needed


# Rules of calls that are never handled as repeated ones: results that have one address are those of MPI_Testany and its kind, and
# calls with windows and other jobs hide the order. And those whose answers never change: operations of MPI on its own types, and tags.
NOT_REPEATED = {"check_results_apart", "check_target_types", "record_unknown_order", "check_operation_types", "check_tags"}


def loops(arguments, draw):
    """Returns the arguments of programs of repeated.c, whether they are wrong, and in which way: one at least for each rule, for
    each of its kinds of mistake, and for each family of calls; and some without a mistake."""
    listed = subprocess.run([f"{arguments.folder}/repeated", "list"], capture_output=True, text=True, check=True).stdout
    all_mistakes = [line.split("\t") for line in listed.splitlines()]
    rules, needed = table_of_rules()
    missing = needed - NOT_REPEATED - {rule for _, rule, _, _ in all_mistakes}
    unknown = {rule for _, rule, _, _ in all_mistakes} - rules
    if missing or unknown:
        sys.exit(f"repeated.c has no mistake for the rules {sorted(missing)}; these are no rules: {sorted(unknown)}")
    families = sorted({family for _, _, family, _ in all_mistakes})
    draw.shuffle(all_mistakes)
    chosen, seen = [], set()
    for number, rule, family, mistake in all_mistakes:
        if {(rule, mistake), family} <= seen:
            continue
        seen |= {(rule, mistake), family}
        turns = draw.randint(3, 7)
        others = draw.sample(families, draw.randint(0, 3))
        chosen.append(([number, turns, draw.randint(2, turns - 1), *others], True, f"{rule}, {family}, {mistake}"))
    return chosen + [([-1, 5, 0, *draw.sample(families, 5)], False, "no mistake") for _ in range(5)]


def compare_both_ways(arguments, cases):
    draw = random.Random(arguments.both_ways)
    shapes = arguments.shapes.split(",")
    runs = []
    for case in draw.sample(cases, len(cases) // arguments.every):
        twin = draw.choice(("wrong", "wrong", "right"))
        runs.append((draw.choice(shapes), case[1], [case[0], twin, draw.randint(1, 6)], None, case[3]))
    runs += [(draw.choice(shapes), "repeated", *loop) for loop in loops(arguments, draw)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        different = [f"FAILED: {program} {' '.join(map(str, given))} at {shape} ({what}): {why}"
                     for (shape, program, given, _, what), why
                     in zip(runs, pool.map(lambda r: both_ways(arguments, *r[:4]), runs)) if why]
    print("\n".join([*different, f"{len(runs)} programs both ways, {len(different)} with other findings"]))
    sys.exit(1 if different or not runs else 0)


# With --after: the twin gives MPI_PROC_NULL by its name, and then a note about a computed rank is not wanted.
NOT_AFTER_THE_TWIN = r"by its name elsewhere|^(source|destination) -1 that is computed"


def run(arguments, shape, case, twin):
    """Returns None when a result is the expected one, else the reason."""
    number, program, kind, name, lines = case
    try:
        status, stderr, findings = checked(arguments, shape, program, [number, twin, arguments.after])
    except subprocess.TimeoutExpired:
        return "does not end"
    except NoReport as wrong:
        return str(wrong)
    if twin == "right":
        # Programs that depend on buffering may race as well.
        findings = [f for f in findings if f["level"] != "note" or kind != "buffering"]
        return None if status == 0 and not findings else f"status {status}: {stderr[:600]}"
    if status != (86 if any(f["level"] != "note" for f in findings) else 0):
        return f"status {status}: {stderr[:300]}"
    for finding in findings:
        named = {str(call.get("line")) for call in finding["calls"]}
        if finding["kind"] == kind and (named.issuperset(lines.split("+")) or named.intersection(lines.split(","))):
            return None
    return f"not named: {stderr[:600]}"


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
            for case in cases[i % arguments.every :: arguments.every] for twin in ("wrong", "right")
            if not arguments.after or not re.search(NOT_AFTER_THE_TWIN, case[3])]
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
