#!/usr/bin/env python3
"""What mpiexec -report adds to a message: an 8-byte MPI_Send and MPI_Recv between two ranks of a process.

  report_cost.py BUILD_FOLDER [RUNS]

Nanoseconds of processor time (the sampler's included): the difference of a long and a short run, each the least of RUNS, so
that neither start and end nor other work on the machine count. RUNS of 10 take 20 s; between them the figure moves by 2 ns on a
machine with other work. Instructions by callgrind, of the ranks' thread alone: exact. As root the runs go before all other work
of the machine. Bytes a rank: of the memory and disk that the file of a process with so many ranks takes, a job's only one, after two
seconds; what it takes once more, the sampler's thread and the library's data, is in docs/reporting.md."""

import glob
import os
import re
import resource
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
RANKS = (64, 200, 1000, 5000)
PAIR = f"{BUILD}/benchmarks/pt2pt_pair"
LIBRARY = f"{BUILD}/lib/libfgmpi-report.so"
FIRST = ["chrt", "-f", "20"] if os.getuid() == 0 else []
MESSAGES = 5 * 2  # of one round of pt2pt_pair latency: five repeats, two ways


def run(folder, library, command, ranks=2):
    for path in glob.glob(f"{folder}/report-*"):
        os.unlink(path)
    environment = dict(os.environ, FGMPI_NFG=str(ranks), FGMPI_REPORT_DIR=folder, LD_PRELOAD=library)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def instructions(folder, library, times):
    for path in glob.glob(f"{folder}/cg*"):
        os.unlink(path)
    run(folder, library, ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/cg", PAIR,
                          "latency", str(times)])
    with open(f"{folder}/cg-01") as file:
        return int(re.search(r"^totals: (\d+)", file.read(), re.M).group(1))


def main():
    few, many = 50_000, 250_000
    with tempfile.TemporaryDirectory() as folder:
        least = {}
        for _ in range(RUNS):
            for key in [(times, library) for times in (few, many) for library in ("", LIBRARY)]:
                seconds = run(folder, key[1], [*FIRST, PAIR, "latency", str(key[0])])
                least[key] = min(seconds, least.get(key, seconds))
        off, on = ((least[many, l] - least[few, l]) / (many - few) / MESSAGES * 1e9 for l in ("", LIBRARY))
        print(f"nanoseconds a message: {off:.1f} without, {on:.1f} with the report: {on - off:.1f} more")
        off, on = ((instructions(folder, l, 3000) - instructions(folder, l, 1000)) // 2000 // MESSAGES for l in ("", LIBRARY))
        print(f"instructions a message: {off} without, {on} with the report: {on - off} more")
        for ranks in RANKS:
            run(folder, LIBRARY, [PAIR, "latency", "500000"], ranks)
            (path,) = glob.glob(f"{folder}/report-*")
            print(f"bytes a rank, of {ranks:,} in a process: {os.stat(path).st_blocks * 512 / ranks:.0f}")


main()
