#!/usr/bin/env python3
"""What checkpoints cost: how long the job stands still, bytes and seconds of the files beside dd, seconds of a restart.

  checkpoint_cost.py BUILD [FOLDER]

FOLDER (a temporary one): on the disk that is measured. At most 0.1 s of standstill for 4 GB are wanted.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def size_of(folder):
    return sum(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(folder) for name in names)


def seconds_of_dd(folder, megabytes):
    """Returns the seconds in which dd writes so many bytes of noise that are in memory."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as noise:
        run(["dd", "if=/dev/urandom", "of=" + noise.name, "bs=1M", "count=%d" % megabytes])
        start = time.monotonic()
        run(["dd", "if=" + noise.name, "of=" + os.path.join(folder, "dd"), "bs=1M", "conv=fsync"])
        took = time.monotonic() - start
    os.remove(os.path.join(folder, "dd"))
    return took


def measure(build, folder, processes, each, kib):
    mpiexec, saved = os.path.join(build, "bin", "mpiexec"), os.path.join(folder, "saved")
    shutil.rmtree(saved, ignore_errors=True)
    start = time.monotonic()
    out = run([mpiexec, "-checkpoint", saved, "-n", str(processes), "-nfg", str(each), os.path.join(build, "benchmarks", "checkpoint_cost"), str(kib)])
    whole = time.monotonic() - start
    stood = [float(line.split()[1]) for line in out.splitlines() if line.startswith("stood")]
    sizes = [size_of(os.path.join(saved, name)) / 1e6 for name in ("1", "2", "3")]
    start = time.time()
    out = run([mpiexec, "-restart", saved, "-n", str(processes)])
    restart = float(next(line for line in out.splitlines() if line.startswith("restarted")).split()[1]) - start
    print("| %d x %d | %.0f MB | %s s | %.0f, %.0f, %.0f MB | %.2f s | %.1f s |" %
          (processes, each, processes * each * kib / 1000, ", ".join("%.3f" % s for s in stood), *sizes, restart, whole), flush=True)
    shutil.rmtree(saved)


def main():
    build = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None)
    try:
        print("load %.1f; dd writes 1 GB of noise in %.1f s" % (os.getloadavg()[0], seconds_of_dd(folder, 1000)))
        print("| processes x ranks | memory | stands still, three times | files | restart | all of the first run |\n| --- | --- | --- | --- | --- | --- |")
        for processes, each, kib in ((2, 500, 16), (2, 5000, 16), (2, 2, 250_000), (2, 50, 40_000)):
            measure(build, folder, processes, each, kib)
    finally:
        shutil.rmtree(folder)


main()
