#!/usr/bin/env python3
"""Measured and predicted times of programs on hosts that are joined by slow links.

  predict_validation.py BUILD_FOLDER [--hosts 4,8,16] [--link 2@16] [--examples-link 40@16] [--runs 3] [--only REGEX]

For each number of hosts scripts/test-multihost makes network namespaces whose links have a delay (ms) and a rate (Mbit/s). There
fgmpi-info -calibrate measures the machine; each program of predict_programs.c and some of the examples run with one process a
host; then mpiexec -predict runs them with the machine's file on this host. The least of the measured times counts, as the
calibration takes the least: other work only makes them longer. Needs root.

All hosts share the cores of this machine: a process that a message wakes has to wait for a core, often until the kernel's next
tick (4 ms). Such waits are no part of the predicted machine. The last column says for how long a rank has waited so, at most, in
the run that counts. The examples wait for a short message in all that they do, so their links are slower.

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
EXAMPLES = [("conjugate_gradient", []), ("sample_sort", ["20000"]), ("spectral", []), ("multigrid", []), ("stencil", ["25"])]
CHOSEN = {"BARRIER": "dissemination", "BCAST": "binomial", "REDUCE": "binomial", "ALLREDUCE": "recursive_doubling",
          "ALLGATHER": "recursive_doubling", "ALLTOALL": "linear", "GATHER": "binomial", "SCATTER": "binomial",
          "SCAN": "recursive_doubling"}
RULES = """  "collectives": {"bcast": "binomial tree", "reduce": "binomial tree", "allreduce": "recursive doubling",
    "allgather": "recursive doubling", "alltoall": "scattered", "communicator": "linear"},
"""


def seconds_in(text):
    """The times that a program prints: "ring 4 ranks 1.234 s", "no core for 0.123 s"."""
    found = re.findall(r"(?:ranks|no core for) (\d+\.\d+) s$", text, re.M)
    if len(found) != 2:
        sys.exit(f"no times in: {text}")
    return tuple(map(float, found))


def environment():
    return dict(os.environ, FGMPI_MULTICAST="off", **{f"FGMPI_COLL_{name}": way for name, way in CHOSEN.items()})


def run(command):
    done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    if done.returncode or "WRONG" in done.stdout:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def is_example(name):
    return name.startswith("examples/")


def commands(build, names):
    for name in filter(names.__contains__, PROGRAMS):
        yield name, [f"{build}/benchmarks/predict_programs", name]
    for name, arguments in EXAMPLES:
        program = f"/mnt/{name}"
        if f"examples/{name}" in names:
            run([f"{build}/bin/mpicc", "-O2", "-w", f"{HERE}/../examples/{name}/{name}.c", f"{HERE}/predict_timer.c", "-o", program, "-lm"])
            yield f"examples/{name}", [program, *arguments]


def inside(build, hosts, runs, names):
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
    for name, command in commands(build, names):
        real = ["env", "PREDICT_PROGRAMS_BLOCK=1", f"{build}/bin/mpiexec", *options.split(), "-hosts", listed, "-n", str(hosts), "-nfg", "1", *command]
        if name == "examples/spectral" and hosts == 8:
            continue  # it takes squares
        measured = [seconds_in(run(real)) for _ in range(runs)]
        predicted, _ = seconds_in(run([f"{build}/bin/mpiexec", "-predict", "/mnt/machine.json", "-n", str(hosts), *command]))
        least, no_core = min(measured)
        times = [time for time, _ in measured]
        print(f"time {name} {least} {predicted} {statistics.median(times)} {max(times)} {no_core}", flush=True)


def names_of(pattern):
    return [name for name in PROGRAMS + [f"examples/{name}" for name, _ in EXAMPLES] if re.search(pattern, name)]


def compare(given, hosts, link, names):
    """Makes the hosts and prints a line for each program. Returns the errors."""
    errors = []
    command = f"{sys.executable} -B {os.path.abspath(__file__)} {given.build} --inside {hosts} --runs {given.runs} --only '^({'|'.join(names)})$'"
    job = subprocess.Popen([f"{HERE}/../scripts/test-multihost", "--build", given.build, "--hosts", hosts, "--processes", "1", "--link", link,
                            "--shell", command], stdout=subprocess.PIPE, text=True)
    for line in job.stdout:
        words = line.split() or [""]
        if words[0] != "time":
            print("  " + line.rstrip()[:2000], file=sys.stderr)
            continue
        measured, predicted, middle, most, no_core = map(float, words[2:])
        errors.append(predicted / measured - 1)
        print(f"{words[1]:28} {hosts:>5} {measured:12.4f} {predicted:12.4f} {100 * errors[-1]:7.1f} %   {middle:.4f} {most:.4f}   {no_core:.4f}",
              flush=True)
    if job.wait():
        sys.exit(f"{hosts} hosts: status {job.returncode}")
    return errors


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--hosts", default="4,8,16")
    parser.add_argument("--link", default="2@16")
    parser.add_argument("--examples-link", default="40@16")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=".")
    parser.add_argument("--inside", type=int)
    given = parser.parse_args()
    names = names_of(given.only)
    if given.inside:
        return inside(given.build, given.inside, given.runs, names)
    errors = []
    os.nice(-19)  # other work on this machine is not to delay the hosts
    print(f"{'program':28} {'hosts':>5} {'measured, s':>12} {'predicted, s':>12} {'error':>8}   median and most measured, without a core")
    for hosts in given.hosts.split(","):
        for link, group in ((given.link, [name for name in names if not is_example(name)]), (given.examples_link, list(filter(is_example, names)))):
            if group:
                errors += compare(given, hosts, link, group)
    sizes = [abs(error) for error in errors]
    if sizes:
        print(f"mean error {100 * statistics.mean(sizes):.1f} %, largest {100 * max(sizes):.1f} %, of {len(sizes)} runs")


main()
