#!/usr/bin/env python3
"""What mpicc -check costs: access_cost.c compiled and run with and without it, in turn.

  access_cost.py BIN [--turns N]

Prints the best times in microseconds, a line a loop: plain; compiled with -check and run without ("idle") and with
mpiexec -check ("check"); the ratios of both to plain; then the geometric means of the ratios. Status 1: some loop takes
more than 5 times as long.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile

LIMIT = 5.0
WAYS = {"plain": ([], []), "idle": (["-check"], []), "check": (["-check"], ["-check"])}


def times(mpiexec, options, program):
    done = subprocess.run([mpiexec, *options, "-n", "1", program], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "access_cost.c")
    best = {way: {} for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for way, (flags, _) in WAYS.items():
            command = [f"{arguments.bin}/mpicc", *flags, "-O2", "-g", source, "-o", f"{folder}/{way}"]
            subprocess.run(command, check=True)
        for _ in range(arguments.turns):
            for way, (_, options) in WAYS.items():
                for name, value in times(f"{arguments.bin}/mpiexec", options, f"{folder}/{way}").items():
                    best[way][name] = min(value, best[way].get(name, value))
    print(f"{'loop':<16} {'plain us':>10} {'idle us':>10} {'check us':>10} {'idle':>6} {'check':>6}")
    ratios = []
    for name, plain in best["plain"].items():
        idle, check = best["idle"][name], best["check"][name]
        ratios.append((idle / plain, check / plain))
        print(f"{name:<16} {plain:>10.2f} {idle:>10.2f} {check:>10.2f} {idle / plain:>6.2f} {check / plain:>6.2f}")
    means = [math.exp(sum(map(math.log, column)) / len(ratios)) for column in zip(*ratios)]
    print(f"{'geometric mean':<49} {means[0]:>6.2f} {means[1]:>6.2f}")
    return int(max(map(max, ratios)) > LIMIT)


sys.exit(main())
