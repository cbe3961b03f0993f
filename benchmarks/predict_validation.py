#!/usr/bin/env python3
"""Measured and predicted times of programs on hosts that are joined by slow links.

  predict_validation.py BUILD_FOLDER [--hosts 4,8,16] [--link 2@16] [--runs 3] [--only REGEX]

For each number of hosts scripts/test-multihost makes network namespaces whose links have a delay (ms) and a rate (Mbit/s). There
fgmpi-info -calibrate measures the machine; each program of predict_programs.c and some of the examples run with one process a
host; then mpiexec -predict runs them with the machine's file on this host. The least of the measured times counts, as the calibration takes the least: other work only makes them longer. The links are
so slow that hosts do not wait for each other's share of this machine's cores. Needs root.

The library chooses algorithms of collectives by thresholds of its own: here it is told which, and the machine's file, too."""

import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["ring", "stencil", "gradient", "transpose", "sample_sort", "farm", "all_to_all", "reductions", "sweep", "overlap"]
# Examples with the arguments that make them take a second or so on such links.
EXAMPLES = [("conjugate_gradient", []), ("sample_sort", ["20000"]), ("spectral", []), ("multigrid", []), ("stencil", ["100"])]
CHOSEN = {"BARRIER": "dissemination", "BCAST": "binomial", "REDUCE": "binomial", "ALLREDUCE": "recursive_doubling",
          "ALLGATHER": "recursive_doubling", "ALLTOALL": "linear", "GATHER": "binomial", "SCATTER": "binomial"}
RULES = """  "collectives": {"bcast": "binomial tree", "reduce": "binomial tree", "allreduce": "recursive doubling",
    "allgather": "recursive doubling", "alltoall": "scattered"},
"""


def seconds_in(text):
    """The time that a program prints: "ring 4 ranks 1.234 s"."""
    found = re.findall(r"ranks (\d+\.\d+) s$", text, re.M)
    return float(found[0]) if found else None


def environment():
    return dict(os.environ, FGMPI_MULTICAST="off", **{f"FGMPI_COLL_{name}": way for name, way in CHOSEN.items()})


def run(command):
    done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    if done.returncode or "WRONG" in done.stdout:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def commands(build, only):
    for name in PROGRAMS:
        yield name, [f"{build}/benchmarks/predict_programs", name]
    for name, arguments in EXAMPLES:
        program = f"/mnt/{name}"
        if re.search(only, f"examples/{name}"):
            run([f"{build}/bin/mpicc", "-O2", "-w", f"{HERE}/../examples/{name}/{name}.c", f"{HERE}/predict_timer.c", "-o", program, "-lm"])
        yield f"examples/{name}", [program, *arguments]


def inside(build, hosts, runs, only):
    """In the namespaces: prints a line for each program."""
    options, listed = os.environ["MULTIHOST_OPTIONS"], os.environ["MULTIHOST_HOSTS"]
    with open("/mnt/hosts", "w") as file:
        file.write(listed.replace(",", "\n") + "\n")
    run([f"{build}/bin/fgmpi-info", "-calibrate", "-hosts", "/mnt/hosts", "-mpiexec", options, "-o", "/mnt/machine.json"])
    with open("/mnt/machine.json") as file:
        text = file.read()
    with open("/mnt/machine.json", "w") as file:
        file.write(text.replace("{\n", "{\n" + RULES, 1))
    print("machine " + re.sub(r"//.*|\s+", " ", text), flush=True)
    for name, command in commands(build, only):
        if not re.search(only, name):
            continue
        real = ["env", "PREDICT_PROGRAMS_BLOCK=1", f"{build}/bin/mpiexec", *options.split(), "-hosts", listed, "-n", str(hosts), "-nfg", "1", *command]
        if name == "examples/spectral" and hosts == 8:
            continue  # it takes squares
        measured = [seconds_in(run(real)) for _ in range(runs)]
        predicted = seconds_in(run([f"{build}/bin/mpiexec", "-predict", "/mnt/machine.json", "-n", str(hosts), *command]))
        if None in measured or not predicted:
            print(f"none {name}", flush=True)
            continue
        print(f"time {name} {min(measured)} {predicted} {statistics.median(measured)} {max(measured)}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--hosts", default="4,8,16")
    parser.add_argument("--link", default="2@16")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=".")
    parser.add_argument("--inside", type=int)
    given = parser.parse_args()
    if given.inside:
        return inside(given.build, given.inside, given.runs, given.only)
    errors = []
    os.nice(-19)  # other work on this machine is not to delay the hosts
    print(f"{'program':28} {'hosts':>5} {'measured, s':>12} {'predicted, s':>12} {'error':>8}   median and most measured")
    for hosts in given.hosts.split(","):
        command = f"{sys.executable} -B {os.path.abspath(__file__)} {given.build} --inside {hosts} --runs {given.runs} --only '{given.only}'"
        job = subprocess.Popen([f"{HERE}/../scripts/test-multihost", "--build", given.build, "--hosts", hosts, "--processes", "1", "--link",
                                given.link, "--shell", command], stdout=subprocess.PIPE, text=True)
        for line in job.stdout:
            words = line.split() or [""]
            if words[0] != "time":
                print("  " + line.rstrip()[:2000], file=sys.stderr)
                continue
            measured, predicted, middle, most = map(float, words[2:])
            error = predicted / measured - 1
            errors.append(abs(error))
            print(f"{words[1]:28} {hosts:>5} {measured:12.4f} {predicted:12.4f} {100 * error:7.1f} %   {middle:.4f} {most:.4f}", flush=True)
        if job.wait():
            sys.exit(f"{hosts} hosts: status {job.returncode}")
    if errors:
        print(f"mean error {100 * statistics.mean(errors):.1f} %, largest {100 * max(errors):.1f} %, of {len(errors)} runs")


main()
