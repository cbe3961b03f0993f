#!/usr/bin/env python3
"""Memory of mpiexec -explore while it runs: of the explorer, and of all explored processes together.

  explore_memory.py BIN PROGRAM [--ranks N] [--seconds N]

PROGRAM is explore_rate. Prints a line for each tenth of the time: how many processes there are, the explorer's memory, and
that of the others (their proportional shares, so that what forks have in common counts once).
"""

import argparse
import os
import re
import subprocess
import tempfile
import time


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(each) for each in file.read().split()]
    except OSError:  # it has ended
        return []
    return children + [each for child in children for each in children_of(child)]


def share_of(pid):
    """In bytes; 0: it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return int(re.search(r"^Pss: *(\d+) kB", file.read(), re.M).group(1)) * 1024
    except (OSError, AttributeError):
        return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    command = [f"{arguments.bin}/mpiexec", f"-explore={arguments.seconds}s", "-n", str(arguments.ranks), arguments.program]
    print(f"{'seconds':>8} {'processes':>10} {'explorer':>10} {'explored':>10}")
    with tempfile.TemporaryDirectory() as folder:
        explorer = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for part in range(1, 10):
            time.sleep(arguments.seconds / 10)
            explored = children_of(explorer.pid)
            own, others = share_of(explorer.pid), sum(share_of(pid) for pid in explored)
            print(f"{part * arguments.seconds / 10:>8.1f} {len(explored):>10} {own / 2**20:>6.1f} MiB {others / 2**20:>6.1f} MiB")
        print(explorer.communicate()[1].splitlines()[-1])


main()
