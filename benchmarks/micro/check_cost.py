#!/usr/bin/env python3
"""What mpiexec -check costs: check_cost with and without it, in turn.

  check_cost.py BIN PROGRAM [-n PROCESSES] [-nfg RANKS] [--turns N]

Prints the best times in microseconds and their ratio, a line a step, then the geometric mean of the ratios.
"""

import argparse
import math
import subprocess


def times(arguments, options):
    command = [f"{arguments.bin}/mpiexec", *options, "-n", arguments.n, "-nfg", arguments.nfg, arguments.program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("program")
    parser.add_argument("-n", default="2")
    parser.add_argument("-nfg", default="500")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    best = {"plain": {}, "check": {}}
    for _ in range(arguments.turns):
        for which, options in (("plain", []), ("check", ["-check"])):
            for name, value in times(arguments, options).items():
                best[which][name] = min(value, best[which].get(name, value))
    print(f"{'step':<18} {'plain us':>10} {'check us':>10} {'ratio':>6}")
    ratios = []
    for name, plain in best["plain"].items():
        ratios.append(best["check"][name] / plain)
        print(f"{name:<18} {plain:>10.2f} {best['check'][name]:>10.2f} {ratios[-1]:>6.2f}")
    print(f"{'geometric mean':<40} {math.exp(sum(map(math.log, ratios)) / len(ratios)):>6.2f}")


main()
