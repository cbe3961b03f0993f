#!/usr/bin/env python3
"""Predicted times of mpiexec -predict beside those of SMPI (SimGrid), and what they cost.

  predict_smpi.py BUILD_FOLDER [--ranks 16] [--stencil 1000,10000] [--smpi-most 1000]

SMPI is Debian's: apt-get install simgrid libsimgrid-dev. Both simulate nodes of one rank with links of 0.5 MB/s and 2 ms between any two
nodes, max-min fair shares, and the same algorithms of collectives; computing takes no time, but for the known work of
predict_programs.c. Then examples/stencil with 100 steps on links of 10 GB/s and 2 us: seconds of processor time and memory."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["ring", "stencil", "gradient", "transpose", "sample_sort", "farm", "all_to_all", "reductions", "sweep", "overlap"]
SMPI = """simulate-computation:no bcast:binomial_tree reduce:binomial allreduce:rdb allgather:rdb alltoall:basic_linear
  alltoallv:ompi_basic_linear coll-selector:mpich async-small-thresh:65536 send-is-detached-thresh:65536""".split()
SMPI = [f"--cfg=smpi/{word}" for word in SMPI] + ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:no", "--cfg=network/TCP-gamma:0",
                                                  "--log=root.thres:critical"]
MACHINE = """{"name": "flat", "nodes": {"ranks": 1},
 "collectives": {"bcast": "binomial tree", "reduce": "binomial tree", "allreduce": "recursive doubling", "allgather": "recursive doubling",
                 "alltoall": "scattered"},
 "links": {"inside": {"latency_ns": %(ns)d, "gb_s": %(gb)g}, "between": {"latency_ns": %(ns)d, "gb_s": %(gb)g, "eager": 65536}}}"""
PLATFORM = """<?xml version='1.0'?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
 <cluster id="c" prefix="h" suffix="" radical="0-%d" speed="1Gf" bw="%s" lat="%s" sharing_policy="SPLITDUPLEX"/></platform>"""


def run(command):
    """Returns the output, the processor time in s and the peak of memory in MB of a command and its children."""
    script = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True, text=True); "
              "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss); print(done.returncode); "
              "print(done.stdout + done.stderr)")
    out = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True).stdout
    first, status, text = out.split("\n", 2)
    if status != "0":
        sys.exit(f"{' '.join(command)}: {text}")
    seconds, kilobytes = first.split()
    return text, float(seconds), float(kilobytes) / 1024


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--stencil", default="1000,10000")
    parser.add_argument("--smpi-most", type=int, default=1000)
    given = parser.parse_args()
    folder = tempfile.TemporaryDirectory().name
    os.mkdir(folder)
    os.chdir(folder)
    for name, source in (("programs", f"{HERE}/predict_programs.c"), ("stencil", f"{HERE}/../examples/stencil/stencil.c")):
        run(["smpicc", "-O2", "-w", source, "-o", f"{name}_smpi", "-lm"])
        run([f"{given.build}/bin/mpicc", "-O2", "-w", source, "-o", name, "-lm"])

    def machines(ranks, nanoseconds, gb_s, bandwidth, latency):
        with open("machine.json", "w") as file:
            file.write(MACHINE % {"ns": nanoseconds, "gb": gb_s})
        with open("platform.xml", "w") as file:
            file.write(PLATFORM % (ranks - 1, bandwidth, latency))
        with open("hosts", "w") as file:
            file.writelines(f"h{i}\n" for i in range(ranks))

    predict = [f"{given.build}/bin/mpiexec", "-predict", "machine.json", "-predict-compute=none"]
    machines(given.ranks, 2_000_000, 0.0005, "0.5MBps", "1ms")
    print(f"{'program':12} {'SMPI, s':>10} {'links, s':>10} {'ends, s':>10}  difference of links")
    for name in PROGRAMS:
        times = []
        for command in (["smpirun", "-np", str(given.ranks), "-platform", "platform.xml", "-hostfile", "hosts", *SMPI, "./programs_smpi", name],
                        [*predict, "-predict-contention=links", "-n", str(given.ranks), "./programs", name],
                        [*predict, "-n", str(given.ranks), "./programs", name]):
            times.append(float(re.search(r"ranks (\d+\.\d+) s", run(command)[0]).group(1)))
        print(f"{name:12} {times[0]:10.4f} {times[1]:10.4f} {times[2]:10.4f}  {100 * (times[1] / times[0] - 1):.1f} %", flush=True)
    for ranks in map(int, given.stencil.split(",")):
        machines(ranks, 2000, 10, "10GBps", "1us")
        if ranks <= given.smpi_most:
            _, seconds, megabytes = run(["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts", *SMPI, "./stencil_smpi",
                                         "100"])
            print(f"stencil, {ranks} ranks: SMPI {seconds:.2f} s, {megabytes:.0f} MB", flush=True)
        _, seconds, megabytes = run([*predict, "-n", str(ranks), "./stencil", "100"])
        print(f"stencil, {ranks} ranks: -predict {seconds:.2f} s, {megabytes:.0f} MB", flush=True)


main()
