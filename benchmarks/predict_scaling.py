#!/usr/bin/env python3
"""Strong scaling on this machine from one process to two, measured and predicted.

  predict_scaling.py BUILD_FOLDER [--runs 5] [--processes 1,2] [--only REGEX] [--compute MODEL]

fgmpi-info -calibrate measures messages between two processes of this host. Then each program of predict_scaling.c runs with one and
with two processes, and under mpiexec -predict with as many ranks, in turns. The least of the times counts, of the measured ones and
of the predicted ones: other work on the machine only makes them longer."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

PROGRAMS = ["jacobi", "gradient", "product", "sort"]


def seconds_of(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    found = re.search(r"ranks (\d+\.\d+) s$", done.stdout, re.M)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return float(found[1])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--only", default=".")
    parser.add_argument("--compute", default="measured")
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
            program = [f"{given.build}/benchmarks/predict_scaling", name]
            measured, predicted = {}, {}
            for _ in range(given.runs):
                for n in numbers:
                    real = seconds_of([mpiexec, "-n", str(n), "-nfg", "1", *program])
                    there = seconds_of([mpiexec, "-predict", machine, f"-predict-compute={given.compute}", "-n", str(n), *program])
                    measured[n] = min(real, measured.get(n, real))
                    predicted[n] = min(there, predicted.get(n, there))
            for n in numbers:
                print(f"{name:10} {n:5} {measured[n]:12.4f} {predicted[n]:12.4f} {100 * (predicted[n] / measured[n] - 1):7.1f} %   "
                      f"{measured[numbers[0]] / measured[n]:.2f}, {predicted[numbers[0]] / predicted[n]:.2f}", flush=True)


main()
