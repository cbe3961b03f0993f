#!/usr/bin/env python3
"""How fast the events of a recorded run are reached: mpiexec -rewind FILE -goto.

  rewind_reach.py BUILD [RANKS [BLOCKS [VISITS]]]

Records BUILD/benchmarks/rewind_cost, visits events at random, and from each goes back by one and by ten calls of its rank. At
most 1 s for any event, and 0.3 s for the previous call of a rank, are wanted.
"""

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time


class Visitor:
    def __init__(self, mpiexec, recording):
        self.process = subprocess.Popen([mpiexec, "-rewind", recording, "-goto", "last"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()

    def ask(self, line):
        """Returns the answer and the seconds until it came."""
        start = time.monotonic()
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        return answer, time.monotonic() - start


def words(times):
    times = sorted(times)
    return "median %.3f s, nine in ten within %.3f s, at most %.3f s" % (statistics.median(times), times[len(times) * 9 // 10], times[-1])


def main():
    build = sys.argv[1]
    ranks, blocks, visits = (int(n) for n in (sys.argv[2:] + ["1000", "25", "60"][len(sys.argv) - 2 :]))
    mpiexec = os.path.join(build, "bin", "mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "run.rec")
        start = time.monotonic()
        subprocess.run([mpiexec, "-record", recording, "-ranks", str(ranks), os.path.join(build, "benchmarks", "rewind_cost"), str(blocks)],
                       check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        start = time.monotonic()
        visitor = Visitor(mpiexec, recording)
        passed = time.monotonic() - start
        events = int(re.search(r" of (\d+):", visitor.first).group(1))
        print("load %.0f; %d ranks, recorded in %.1f s: %d events, %.1f MB" % (os.getloadavg()[0], ranks, seconds, events, os.path.getsize(recording) / 1e6))
        print("first pass, up to the last event: %.1f s; %s" % (passed, visitor.ask("snapshots")[0]))
        chance, anywhere, back, further = random.Random(1), [], [], []
        for _ in range(visits):
            anywhere.append(visitor.ask("goto %d" % chance.randint(1, events))[1])
            for times, command in ((back, "back"), (further, "back 10")):
                answer, took = visitor.ask(command)
                if answer.startswith("at "):
                    times.append(took)
        print("any event: %s" % words(anywhere))
        print("the previous call of its rank: %s" % words(back))
        print("ten calls before: %s" % words(further))
        print("then %s" % visitor.ask("snapshots")[0])
        visitor.ask("quit")


main()
