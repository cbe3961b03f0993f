#!/usr/bin/env python3
"""Times of every collective by this library, MPICH and Open MPI with as many ranks each, side by side.

usage, from build/PRESET:   ../../benchmarks/micro/coll_compare.py -n 16
                            ../../benchmarks/micro/coll_compare.py -n 64 --size 65536 barrier bcast

coll_compare.c is compiled for each. MPICH: mpicc.mpich and mpiexec.hydra (--mpich-cc, --mpich-run). Open MPI: mpicc.openmpi
(--openmpi-cc, say 'gcc -I.../openmpi/include' with --openmpi-libs .../libmpi.so.40 where there is no wrapper) and its
mpiexec (--openmpi-run); a library that cannot be compiled for is left out, with a line that says so.

Each measurement has --budget seconds and --timeout more to end: one that does not is shown as "> timeout" and that library goes
on with the next. "x" is the best other time over ours, marked < where it is below --aim; "bound" is the time in which memcpy
moves what any algorithm must (from 64 KiB), and "no" in the last column means that ours could not reach the aim at the bound
either. Two times of each: calls in a row (of the root of a broadcast, or of a gather's leaves, many may be under way at
once), and --apart: from when all have begun to when all have ended ("noise": less than what barriers differ by).
"""
import argparse
import os
import select
import shlex
import subprocess
import sys
import tempfile
import time

START = 60  # seconds that a job may take to come up


class Library:
    def __init__(self, name, start):
        self.name, self.start, self.times, self.bounds = name, start, {}, {}

    def measure(self, options, apart):
        """Runs all measurements, one job as long as they end; what ran out of time is skipped by starting anew behind it."""
        after = None
        while True:
            stuck = self.job(options, apart, after)
            if stuck is None:
                return
            after = stuck

    def job(self, options, apart, after):
        """One job from behind measurement `after` on; returns the measurement that did not end, or None."""
        command = self.start + ["-b", str(options.budget)] + ["-l"] + (["-a"] if apart else [])
        command += ["-s", options.size] if options.size else []
        if after:
            command += ["-f", ":".join(after)]
        command += options.collectives
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
                                   start_new_session=True)
        begun, started = None, time.monotonic()
        while True:
            allowed = options.timeout + 3 * options.budget if begun else START
            left = allowed - (time.monotonic() - started)
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                end(process)
                if begun is None:
                    sys.exit(f"{self.name}: no measurement began within {START} s: {shlex.join(command)}")
                self.times[begun + (apart,)] = None
                return begun
            words = process.stdout.readline().split()
            if not words:
                process.wait()
                if process.returncode and begun:
                    print(f"{self.name}: {' '.join(begun)} failed", file=sys.stderr)
                    self.times[begun + (apart,)] = None
                    return begun
                return None
            started = time.monotonic()
            if words[0] == "begin":
                begun = (words[1], words[2])
            elif words[0] == "time":
                self.times[(words[1], words[2], apart)] = float(words[3])
            elif words[0] == "bound":
                self.bounds[(words[1], words[2])] = float(words[3])


def end(process):
    """The job's launcher is asked first: it takes the ranks with it."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()


def compiled(name, compiler, libs, target):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coll_compare.c")
    try:
        subprocess.run(shlex.split(compiler) + ["-O2", source, "-o", target] + shlex.split(libs), check=True,
                       capture_output=True)
        return True
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"{name} is left out: {compiler}: {getattr(problem, 'stderr', b'').decode()[:200] or problem}")
        return False


def libraries(options, folder):
    ours = os.path.join(folder, "ours")
    if not compiled("this library", options.bin + "/mpicc", "", ours):
        sys.exit(1)
    per = options.n // options.processes
    mpiexec = [options.bin + "/mpiexec"] + shlex.split(options.options)
    found = [Library("fgmpi", mpiexec + ["-n", str(options.processes), "-nfg", str(per), ours])]
    mpich, openmpi = os.path.join(folder, "mpich"), os.path.join(folder, "openmpi")
    if compiled("MPICH", options.mpich_cc, "", mpich):
        found.append(Library("MPICH", shlex.split(options.mpich_run) + ["-n", str(options.n), mpich]))
    if compiled("Open MPI", options.openmpi_cc, options.openmpi_libs, openmpi):
        found.append(Library("Open MPI", shlex.split(options.openmpi_run) + ["-n", str(options.n), openmpi]))
    return found


def shown(library, key, options):
    if key not in library.times:
        return "-"
    seconds = library.times[key]
    if seconds == 0:
        return "noise"
    return f"> {options.timeout * 1e6:.0f}" if seconds is None else f"{seconds * 1e6:.2f}"


def report(found, options, apart):
    ours = found[0]
    print(f"\n{options.n} ranks, us, " + ("each call apart" if apart else "calls in a row"))
    head = f"{'collective':<21}{'bytes':>8}" + "".join(f"{l.name:>12}" for l in found) + f"{'x':>11}"
    print(head + f"{'bound':>10}{'of bound':>10}  aim in reach")
    below = 0
    for key in [k for k in ours.times if k[2] == apart]:
        others = [options.timeout if l.times[key] is None else l.times[key] for l in found[1:] if key in l.times]
        others = [t for t in others if t > 0]
        mine = ours.times[key]
        line = f"{key[0]:<21}{key[1]:>8}" + "".join(f"{shown(l, key, options):>12}" for l in found)
        if others and mine:
            ratio = min(others) / mine
            below += ratio < options.aim
            line += f"{ratio:>10.1f}" + ("<" if ratio < options.aim else " ")
        bound = ours.bounds.get(key[:2])
        if bound and mine:
            line = f"{line:<{len(head)}}{bound * 1e6:>10.1f}{mine / bound:>10.1f}"
            if others:
                line += "  " + ("yes" if min(others) / bound >= options.aim else "no")
        print(line)
    print(f"{below} below {options.aim} times")


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("-n", type=int, default=16, help="ranks")
    parse.add_argument("--processes", type=int, default=2, help="processes of this library (2)")
    parse.add_argument("--bin", default="bin", help="this library's mpicc and mpiexec (bin)")
    parse.add_argument("--options", default="", help="for this library's mpiexec, say '-bind-to core'")
    parse.add_argument("--mpich-cc", default="mpicc.mpich")
    parse.add_argument("--mpich-run", default="mpiexec.hydra")
    parse.add_argument("--openmpi-cc", default="mpicc.openmpi")
    parse.add_argument("--openmpi-libs", default="")
    parse.add_argument("--openmpi-run", default="mpiexec.openmpi --oversubscribe")
    parse.add_argument("--budget", type=float, default=2)
    parse.add_argument("--timeout", type=float, default=30)
    parse.add_argument("--size", help="one size in bytes instead of all")
    parse.add_argument("--aim", type=float, default=10)
    parse.add_argument("--apart", choices=["no", "yes", "both"], default="both")
    parse.add_argument("collectives", nargs="*")
    options = parse.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = libraries(options, folder)
        for apart in {"no": [False], "yes": [True], "both": [False, True]}[options.apart]:
            for library in found:
                library.measure(options, apart)
            report(found, options, apart)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
