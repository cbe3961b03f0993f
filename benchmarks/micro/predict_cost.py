#!/usr/bin/env python3
"""What mpiexec -predict adds to a message, and to the memory of a rank.

  predict_cost.py BUILD_FOLDER [RANKS]

Instructions by callgrind: the difference of a long and a short run, so that neither start and end nor other work on the machine
count. Transfers: messages of the program and those of the schedules of its collectives; without a prediction the latter do not
exist. Bytes a rank: of the peak of memory of the process, beside that without a prediction; messages have 8 bytes there. The
peak has the code that a prediction uses, too, which all processes of a host share: four times as many ranks show what a rank takes."""

import os
import re
import resource
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
PROGRAM = f"{BUILD}/benchmarks/predict_cost"
METER = f"{BUILD}/lib/libfgmpi-predict.so"
# The machine infiniband-hdr, as mpiexec passes it on (src/predict/machine.h).
MACHINE = """name benchmark
ranks_per_node 16
compute none
eager inside 16384
piece inside 0 300000 100000 120000 40000 100
eager between 16384
piece between 0 900000 150000 200000 100000 42.5
"""


def run(folder, predicted, kind, steps, command=()):
    environment = dict(os.environ, FGMPI_NFG=str(RANKS))
    if predicted:
        environment.update(FGMPI_PREDICT_DIR=folder, LD_PRELOAD=METER)
        with open(f"{folder}/machine", "w") as file:
            file.write(MACHINE)
    begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*command, PROGRAM, kind, str(steps)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    transfers = 0
    if predicted:
        with open(f"{folder}/outcome") as file:
            transfers = int(file.read().splitlines()[1].split()[1])
    return transfers, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun


def counted(folder, predicted, kind, steps):
    cg = f"{folder}/cg"
    transfers, _ = run(folder, predicted, kind, steps, ("valgrind", "--tool=callgrind", f"--callgrind-out-file={cg}"))
    with open(cg) as file:
        return transfers, int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M).group(1))


def peak(folder, predicted, ranks):
    """The peak of memory of a run of the gradient, bytes."""
    script = ("import os, resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    environment = dict(os.environ, FGMPI_NFG=str(ranks))
    if predicted:
        environment.update(FGMPI_PREDICT_DIR=folder, LD_PRELOAD=METER)
    done = subprocess.run([sys.executable, "-c", script, PROGRAM, "gradient", "3", "1"], env=environment, capture_output=True, text=True,
                          check=True)
    return int(done.stdout.split()[-1]) * 1024


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("ring", "stencil", "gradient"):
            few, many = 6, 16
            plain = [counted(folder, False, kind, steps)[1] for steps in (few, many)]
            (first, least), (all_transfers, most) = (counted(folder, True, kind, steps) for steps in (few, many))
            transfers = all_transfers - first
            off, on = plain[1] - plain[0], most - least
            print(f"{kind}: {transfers / (many - few) / RANKS:.1f} transfers a rank and step; instructions a transfer: "
                  f"{off / transfers:.0f} without, {on / transfers:.0f} with the prediction: {(on - off) / transfers:.0f} more")
            seconds = [min(run(folder, True, kind, steps)[1] for _ in range(3)) for steps in (10, 110)]
            without = [min(run(folder, False, kind, steps)[1] for _ in range(3)) for steps in (10, 110)]
            transfers = transfers / (many - few) * 100
            print(f"  nanoseconds a transfer: {(seconds[1] - seconds[0]) / transfers * 1e9:.0f}, "
                  f"{(without[1] - without[0]) / transfers * 1e9:.0f} without")
        few, many = (peak(folder, True, ranks) - peak(folder, False, ranks) for ranks in (RANKS, 4 * RANKS))
        print(f"bytes a rank, of {RANKS:,}: {few / RANKS:.0f} more; of each further one: {(many - few) / RANKS / 3:.0f}")


main()
