#!/usr/bin/env python3
"""Strong scaling on this machine from one process to two, measured and predicted.

  predict_scaling.py BUILD_FOLDER [--runs 5] [--processes 1,2] [--only REGEX] [--compute MODEL] [--busy 0.02] [--steps 4] [--processor]

fgmpi-info -calibrate measures messages between two processes of this host. Then each program of predict_scaling.c runs with one and
with two processes, and under mpiexec -predict with as many ranks, in turns. Other work on the machine takes cores away from a measured
run, and no predicted one: a round in which a process was ready and had no core for more than the part --busy of its time does not
count, nor one in which known work took longer beside one of its two runs than beside the other by the part --uneven: the processor
had another speed. A line has the medians of the rounds that count; "busy" and the round that waited least where none does.

--processor compares with the most processor time that a rank took, in place of the time that passed: that holds beside other work,
too, for programs that compute most of the time (a rank that waits for a message looks for it for a while, which is processor time)."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ["jacobi", "gradient", "product", "sort"]


def times_of(command):
    """Of a run: its time, for how long a process had no core, the processor time of a rank, and what known work took, s."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    found = re.findall(r"(?:ranks|no core for|processor|known work) (\d+\.\d+) s$", done.stdout, re.M)
    if done.returncode or len(found) != 4:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return tuple(map(float, found))


def summary_of(rounds, busy, uneven):
    """Measured and predicted time, and a remark. rounds: (part of the time without a core, change of speed, measured, predicted)."""
    good = [round_[2:] for round_ in rounds if round_[0] <= busy and round_[1] <= uneven]
    if not good:
        part, change, *least = min(rounds)
        return *least, f"busy: {100 * part:.0f} % of the time without a core, the processor's speed changed by {100 * change:.0f} %"
    return statistics.median(m for m, _ in good), statistics.median(p for _, p in good), f"{len(good)} of {len(rounds)} rounds"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--only", default=".")
    parser.add_argument("--compute", default="measured")
    parser.add_argument("--busy", type=float, default=0.02)
    parser.add_argument("--uneven", type=float, default=0.05)
    parser.add_argument("--steps", default="4")
    parser.add_argument("--processor", action="store_true")
    given = parser.parse_args()
    numbers = list(map(int, given.processes.split(",")))
    mpiexec = f"{given.build}/bin/mpiexec"
    with tempfile.TemporaryDirectory() as folder:
        machine = f"{folder}/machine.json"
        subprocess.run([f"{given.build}/bin/fgmpi-info", "-calibrate", "-o", machine], check=True, stdout=subprocess.DEVNULL)
        with open(machine) as file:
            text = re.sub(r'"ranks": \d+', f'"ranks": {max(numbers)}', file.read())
        with open(machine, "w") as file:
            file.write(text)
        print(f"{'program':10} {'ranks':>5} {'measured, s':>12} {'predicted, s':>12} {'error':>8}   speed-up measured, predicted")
        for name in [name for name in PROGRAMS if re.search(given.only, name)]:
            program = [f"{given.build}/benchmarks/predict_scaling", name, given.steps]
            rounds = {n: [] for n in numbers}
            for _ in range(given.runs):
                for n in numbers:
                    real, no_core, processor, speed = times_of([mpiexec, "-n", str(n), "-nfg", "1", *program])
                    there, _, _, other = times_of([mpiexec, "-predict", machine, f"-predict-compute={given.compute}", "-n", str(n), *program])
                    change = max(speed, other) / min(speed, other) - 1
                    if given.processor:
                        rounds[n].append((0, change, processor, there))
                    else:
                        rounds[n].append((no_core / real, change, real, there))
            first = None
            for n in numbers:
                measured, predicted, remark = summary_of(rounds[n], given.busy, given.uneven)
                first = first or (measured, predicted)
                print(f"{name:10} {n:5} {measured:12.4f} {predicted:12.4f} {100 * (predicted / measured - 1):7.1f} %   "
                      f"{first[0] / measured:.2f}, {first[1] / predicted:.2f}   {remark}", flush=True)


main()
