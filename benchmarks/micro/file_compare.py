#!/usr/bin/env python3
"""Reads and writes of files by this library and by another MPI's ROMIO with as many ranks, side by side.

usage, from build/PRESET:   ../../benchmarks/micro/file_compare.py -n 8 -p 2 --folder /dev/shm --folder /tmp
                            ../../benchmarks/micro/file_compare.py -n 1000 -p 2 --alone --mib 1024 array bound

file_compare.c is compiled for both (--mpich-cc, --mpich-run name the other's). This library runs n ranks in -p processes, the
other one a rank a process. Each pattern is a job of its own for each library, in turn, so that both meet the same load; what
does not end in --timeout seconds is shown as such. "x" is the other's time over ours. --alone: no other library.
"""
import argparse
import os
import shlex
import subprocess
import tempfile

PATTERNS = ("segmented segmented_read strided strided_read strided_all strided_all_read sparse sparse_read "
            "sparse_all sparse_all_read array array_read records open close").split()


def job(command, timeout):
    """The lines of a job as {pattern: (seconds, bytes)}."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=timeout,
                              start_new_session=True)
    except subprocess.TimeoutExpired:
        return {}
    lines = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            lines[words[0]] = (float(words[1]), float(words[2]))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=8)
    parser.add_argument("-p", type=int, default=2)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--folder", action="append")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--mpich-cc", default="mpicc.mpich")
    parser.add_argument("--mpich-run", default="mpiexec.hydra")
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "file_compare.c")
    with tempfile.TemporaryDirectory() as work:
        ours, theirs = os.path.join(work, "ours"), os.path.join(work, "theirs")
        subprocess.run(["bin/mpicc", "-O2", source, "-o", ours], check=True)
        if not options.alone:
            subprocess.run(shlex.split(options.mpich_cc) + ["-O2", source, "-o", theirs], check=True)
        for folder in options.folder or ["/dev/shm", "."]:
            print(f"{options.n} ranks, ours in {options.p} processes, {options.mib} MiB, in {folder}")
            print(f"{'pattern':20} {'ours/s':>10} {'MiB/s':>8} {'ROMIO/s':>10} {'x':>6}")
            for pattern in options.patterns or PATTERNS:
                # Reads need the file of the write before them.
                which = [pattern.replace("_read", ""), pattern] if "_read" in pattern else [pattern]
                words = ["-m", str(options.mib), "-r", str(options.repeats), folder, *which]
                mine = job(["bin/mpiexec", "-n", str(options.p), "-nfg", str(options.n // options.p), ours, *words],
                           options.timeout).get(pattern)
                other = None if options.alone else job(
                    [options.mpich_run, "-n", str(options.n), theirs, *words], options.timeout).get(pattern)
                show = f"{mine[0]:10.5f} {mine[1] / mine[0] / 2**20:8.0f}" if mine else f"{'too long':>10} {'':8}"
                if not options.alone:
                    show += f" {other[0]:10.5f}" if other else f" {'too long':>10}"
                    show += f" {other[0] / mine[0]:6.2f}" if mine and other else ""
                print(f"{pattern:20} {show}", flush=True)
            for name in os.listdir(folder):
                if name.startswith("file_compare_"):
                    os.unlink(os.path.join(folder, name))


if __name__ == "__main__":
    main()
