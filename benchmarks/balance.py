#!/usr/bin/env python3
"""What mpiexec -balance gains, for programs with unequal and with equal work (balance.c).

  balance.py BUILD [--processes 2,4,8] [--kinds apart,halo,...] [--rounds 3]

Times of a machine that others use, too, say little, and processes may outnumber cores. So what counts is processor time and work:
  work    the sum over the steps of the largest work of a process, beside the bound (all work, divided by the processes): what the
          program would take if each process had a core of its own and nothing but the work took time
  busy    processor time of the busiest process from the first step to the last, with everything that it did, beside the bound:
          the work's processor time without balance, divided by the processes
For equal work: busy with -balance beside busy without, the median of rounds that take turns.
"""

import argparse
import os
import re
import statistics
import subprocess

UNEQUAL = {"apart": (40, 400000), "halo": (40, 400000), "wander": (80, 300000), "sudden": (60, 400000), "corner": (60, 300000),
           "farm": (30, 400000)}
EQUAL = ["even_allreduce", "even_halo", "even_far", "even_ring", "even_barrier", "even_bcast", "even_alltoall", "even_gather",
         "even_scan", "even_pairs", "even_mixed"]
RANKS = 64


def run(build, balanced, processes, kind, steps, unit):
    """Returns the numbers that the program prints, and the line of -summary."""
    command = ["timeout", "300", os.path.join(build, "bin", "mpiexec"), *(["-balance", "-summary"] if balanced else []), "-n", str(processes),
               "-nfg", str(RANKS // processes), "-genv", "FGMPI_SPIN", "0", os.path.join(build, "benchmarks", "balance"), kind, str(steps), str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = dict(re.findall(r"(\w+) ([0-9a-f.]+)", done.stdout))
    moves = re.search(r"moved (\d+) times", done.stderr)
    return {**{k: float(v) for k, v in found.items() if k != "sum"}, "sum": found["sum"], "moves": int(moves.group(1)) if moves else 0}


def unequal(arguments):
    print("kind     processes | work beside the bound: without, with | busy beside the bound: without, with | moves  away")
    for kind in arguments.kinds:
        if kind not in UNEQUAL:
            continue
        for processes in arguments.processes:
            plain, balanced = [run(arguments.build, b, processes, kind, *UNEQUAL[kind]) for b in (False, True)]
            assert plain["sum"] == balanced["sum"], "the results differ"
            bound = plain["all"] / processes
            print(f"{kind:8} {processes:9} | {plain['makespan'] / plain['bound']:.3f} {balanced['makespan'] / balanced['bound']:.3f} | "
                  f"{plain['busiest'] / bound:.3f} {balanced['busiest'] / bound:.3f} | {balanced['moves']} {balanced['away']:.1f}", flush=True)


def equal(arguments):
    print("kind           processes | busy with / without | moves")
    for kind in arguments.kinds:
        if kind not in EQUAL:
            continue
        for processes in arguments.processes:
            ratios, moves = [], []
            for _ in range(arguments.rounds):
                plain, balanced = [run(arguments.build, b, processes, kind, 200, 100000) for b in (False, True)]
                assert plain["sum"] == balanced["sum"], "the results differ"
                ratios.append(balanced["busiest"] / plain["busiest"])
                moves.append(balanced["moves"])
            print(f"{kind:14} {processes:9} | {statistics.median(ratios):.3f} | {moves}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--processes", type=lambda text: [int(n) for n in text.split(",")], default=[2])
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=[*UNEQUAL, *EQUAL])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    unequal(arguments)
    equal(arguments)


main()
