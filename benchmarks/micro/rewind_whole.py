#!/usr/bin/env python3
"""What mpiexec -record costs a whole run: the start, trapped system calls, counted calls and the file.

  rewind_whole.py BUILD [RANKS [TURNS]]

Runs each kind of call of BUILD/benchmarks/rewind_cost recorded and not recorded, in turn, and prints the processor time of both (the
median), and the median and the range of the ratios of one turn. At most 1.2 is wanted.
"""

import os
import statistics
import subprocess
import sys
import tempfile


def processor_time(command):
    """Returns the seconds of the processor that the command takes, with its children."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        sys.exit("%s: status %d" % (" ".join(command), status))
    return usage.ru_utime + usage.ru_stime


def main():
    build = sys.argv[1]
    ranks, turns = (int(n) for n in (sys.argv[2:] + ["1000", "9"][len(sys.argv) - 2 :]))
    mpiexec, program = os.path.join(build, "bin", "mpiexec"), os.path.join(build, "benchmarks", "rewind_cost")
    print("load %.0f, %d ranks, %d turns" % (os.getloadavg()[0], ranks, turns))
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "run.rec")
        for kind, rounds in (("messages", 4000), ("collective", 8000), ("stencil", 1200)):
            job = ["-ranks", str(ranks), program, kind, str(rounds * 1000 // ranks)]
            pairs = [(processor_time([mpiexec, "-record", recording, *job]), processor_time([mpiexec, "-n", "1", "-nfg", str(ranks), *job[2:]]))
                     for _ in range(turns)]
            ratios = sorted(a / b for a, b in pairs)
            print("%-11s %5.2f s recorded, %5.2f s without: %.2f (%.2f to %.2f); the file has %.2f MB" % (
                kind, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), statistics.median(ratios), ratios[0], ratios[-1],
                os.path.getsize(recording) / 1e6))


main()
