#!/usr/bin/env python3
"""Executions per second of mpiexec -explore: on one core, on two, and beside running the program anew for each.

  explore_rate.py BIN PROGRAM [--ranks N] [--executions N] [--milliseconds N[+N],...] [--turns N]

PROGRAM is explore_rate: it computes for so many milliseconds before its first choice, and after each ("0+2"). Prints the best of the turns, a line for
each, and the most memory that one process of an exploration had.
"""

import argparse
import os
import re
import resource
import subprocess
import time


def seconds_of(command, cores):
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores))
    return time.monotonic() - begin, done


def explored(arguments, milliseconds, cores):
    command = [f"{arguments.bin}/mpiexec", f"-explore={arguments.executions}", "-n", str(arguments.ranks),
               arguments.program, *milliseconds.split("+")]
    seconds, done = seconds_of(command, cores)
    count = int(re.search(r"^fgmpi: explore: (\d+) executions?[ ,]", done.stderr, re.M).group(1))
    return count / seconds


def run_anew(arguments, milliseconds, cores):
    command = [f"{arguments.bin}/mpiexec", "-check", "-n", "1", "-nfg", str(arguments.ranks), arguments.program,
               *milliseconds.split("+")]
    runs = 5
    return runs / sum(seconds_of(command, cores)[0] for _ in range(runs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=9)
    parser.add_argument("--executions", type=int, default=1000)
    parser.add_argument("--milliseconds", default="0,20,0+2")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    one, two = set(cores[:1]), set(cores[:2])
    print(f"{'computing':>14} {'one core':>10} {'two cores':>10} {'two/one':>8} {'anew':>8} {'explored/anew':>14}")
    for milliseconds in arguments.milliseconds.split(","):
        best = [0, 0, 0]
        for _ in range(arguments.turns):
            rates = (explored(arguments, milliseconds, one), explored(arguments, milliseconds, two),
                     run_anew(arguments, milliseconds, one))
            best = [max(pair) for pair in zip(best, rates)]
        print(f"{milliseconds + ' ms':>14} {best[0]:>8.0f}/s {best[1]:>8.0f}/s {best[1] / best[0]:>8.2f} {best[2]:>6.1f}/s "
              f"{best[0] / best[2]:>14.1f}")
    print(f"a process had {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB at most")


main()
