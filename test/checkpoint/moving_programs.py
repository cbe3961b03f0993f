#!/usr/bin/env python3
"""Programs of test/mpi whose ranks move at random calls (FGMPI_BALANCE=random:SEED): each ends as it does when its ranks stay.

  moving_programs.py BIN MPI_TESTS [--all] [--every N] [--shapes CxP,...] [--seeds S,...] [--schedule SEED] [--jobs N] [NAME...]

Without options a sample of the programs runs, at one of the shapes each. --all: all programs, at all shapes. --every N: each Nth.
--schedule: ready ranks run in random order, too. NAME: a topic or TOPIC/PROGRAM. A program that fails behind the layer of
src/checkpoint although its ranks stay is left out, and so is one whose own shapes (NAME.shapes) have one process."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "mpi"
TOPICS = "pt2pt coll comm attr datatype topo group old_style fortran rma file bound".split()
SHAPES = "2x2,4x2,2x4,64x2,5x3"
# Programs that count what moving changes: messages inside of a process, frames between processes, bytes of maps, messages to the
# rank itself that are received at once; and those that send so much that they take minutes.
LEFT_OUT = ("pt2pt/local_messages coll/messages pt2pt/request_status pt2pt/flood pt2pt/large coll/huge coll/burst "
            "comm/memory comm/system_ranked_memory pt2pt/four_gib").split()
# Faults that are known (docs/moving.md): these run only where they are named.
KNOWN_FAULTS = "attr/languages coll/random".split()
# What differs between two runs of a program.
VARIES = re.compile(r"\d+\.\d+(e[-+]\d+)?|0x[0-9a-f]+|pid \d+")


def programs(folder, names):
    """Paths of the programs, with the shapes that they are restricted to (None: all)."""
    for topic in TOPICS:
        for path in sorted((folder / topic).iterdir()):
            if names and topic not in names and f"{topic}/{path.name}" not in names:
                continue
            if not path.is_file() or not os.access(path, os.X_OK) or path.name.endswith((".host", "_abi", ".sh")):
                continue
            if f"{topic}/{path.name}" in LEFT_OUT + KNOWN_FAULTS and f"{topic}/{path.name}" not in names:
                continue
            shapes = SOURCES / topic / (path.name + ".shapes")
            yield path, re.findall(r"^\d+x\d+", shapes.read_text(), re.M) if shapes.exists() else None


def remove_left_files():
    """Removes files of gigabytes in memory whose programs were killed before they could: each is named by a process."""
    for path in Path("/dev/shm").glob("fgmpi_large_*"):
        if not Path("/proc", path.name.rpartition("_")[2]).exists():
            path.unlink(missing_ok=True)


def run(bin_folder, program, shape, limit, **environment):
    """Returns the exit status and what was printed, line by line, in an order that does not depend on the run."""
    ranks, processes = shape.split("x")
    command = [bin_folder / "mpiexec", "-n", processes, "-nfg", ranks, "-genv", "LD_PRELOAD", "libfgmpi-checkpoint.so", program]
    environment = dict(os.environ, FGMPI_HEAP="rank", FGMPI_PRIVATIZE="on", **environment)
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        return "no end", output.splitlines()
    finally:
        remove_left_files()
    return process.returncode, output.splitlines()


def comparable(lines):
    return sorted(VARIES.sub("#", line) for line in lines)


def compare(bin_folder, program, shape, limit, environments):
    """Returns None where the program fails although its ranks stay, else a list of what is wrong."""
    stays = run(bin_folder, program, shape, limit)
    if stays[0] != 0:
        return None
    wrong = []
    for environment in environments:
        status, lines = run(bin_folder, program, shape, limit, **environment)
        words = " ".join(f"{name}={value}" for name, value in environment.items())
        if status != stays[0]:
            wrong.append(f"{program.parent.name}/{program.name} {shape} {words} ends with {status}:\n  " + "\n  ".join(lines[:8]))
        elif comparable(lines) != comparable(stays[1]):
            found, expected = (set(comparable(text)) for text in (lines, stays[1]))
            wrong.append(f"{program.parent.name}/{program.name} {shape} {words} prints\n  " +
                         "\n  ".join(sorted(found - expected)[:4]) + "\nand not\n  " + "\n  ".join(sorted(expected - found)[:4]))
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bin", type=Path)
    parser.add_argument("tests", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--schedule", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=120, help="seconds a run")
    asked = parser.parse_intermixed_args()
    environments = [{"FGMPI_BALANCE": f"random:{seed}"} for seed in asked.seeds.split(",")]
    if asked.schedule is not None:
        environments = [dict(e, FGMPI_SCHED=f"random:{asked.schedule}") for e in environments]
    every = asked.every or (1 if asked.all or asked.names else 8)
    work = []
    for number, (path, shapes) in enumerate(list(programs(asked.tests, asked.names))):
        if number % every:
            continue
        allowed = [s for s in asked.shapes.split(",") if shapes is None or s in shapes]
        allowed = allowed or [s for s in shapes if not s.endswith("x1")]
        work += [(path, shape) for shape in (allowed if asked.all else allowed[number // every % max(len(allowed), 1):][:1])]
    left_out, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        results = pool.map(lambda job: (job, compare(asked.bin, *job, asked.limit, environments)), work)
        for (path, shape), wrong in results:
            if wrong is None:
                left_out.append(f"{path.parent.name}/{path.name} {shape}")
            for text in wrong or []:
                failed += 1
                print(text, flush=True)
    print(f"{len(work) - len(left_out)} runs at several processes, {failed} wrong; left out: {', '.join(left_out) or 'none'}")
    return 1 if failed or len(work) == len(left_out) else 0


sys.exit(main())
