#!/usr/bin/env python3
"""Reports of jobs whose ranks move: counts are those of the program wherever a rank was, and each rank's moves follow one another.

  moves.py BIN FOLDER     BIN: the build tree's; FOLDER: stencil and moving, compiled
"""

import json
import os
import re
import subprocess
import sys
import tempfile

BIN, FOLDER = sys.argv[1:3]
AT_RANDOM = {"FGMPI_HEAP": "rank", "FGMPI_PRIVATIZE": "on"}


def expect(good, what, text=""):
    if not good:
        sys.exit(f"FAILED: {what}\n{text}")


def run(words, environment=(), status=0):
    """Returns the standard output and error of mpiexec, and the data of the page."""
    with tempfile.TemporaryDirectory() as scratch:
        page = f"{scratch}/page.html"
        job = subprocess.run([f"{BIN}/mpiexec", "-report", page, *words], capture_output=True, text=True, timeout=200,
                             stdin=subprocess.DEVNULL, env={**os.environ, **dict(environment), "TMPDIR": scratch})
        text = job.stdout + job.stderr
        expect((job.returncode == 0) == (status == 0), f"{words}: status {job.returncode}", text)
        with open(page, encoding="utf-8") as file:
            found = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)
        expect(os.listdir(scratch) == ["page.html"], f"{words}: left behind: {os.listdir(scratch)}")
        return text, json.loads(found.group(1))


def random_moves(seed, program, processes, each, *arguments, status=0):
    return run(["-n", str(processes), "-nfg", str(each), "-genv", "LD_PRELOAD", "libfgmpi-checkpoint.so", f"{FOLDER}/{program}",
                *map(str, arguments)], {**AT_RANDOM, "FGMPI_BALANCE": f"random:{seed}"}, status)


def check_chains(what, data, each, ended=True):
    """Each move begins where the rank was; at first and in the end it is at home. Returns how many moves there are."""
    place = {}
    for _, rank, start, to in data["timeline"]["moves"]:
        at = place.get(rank, rank // each)
        expect(start == at and to != start, f"{what}: rank {rank} goes from {start} to {to}, but is in {at}")
        place[rank] = to
    away = {rank: at for rank, at in place.items() if at != rank // each}
    expect(not ended or not away, f"{what}: ranks end away from home: {away}")
    return len(data["timeline"]["moves"])


def check_counts(what, data, wanted):
    calls = {c[0]: c[2:4] for c in data["calls"]}
    for call, counts in wanted.items():
        expect(calls.get(call) == counts, f"{what}: {call}: {calls.get(call)} instead of {counts}")


def messages(data):
    """{(from, to): [messages, bytes]}, however they went."""
    cells, sums = data["matrix"]["cells"], {}
    for i in range(0, len(cells), 5):
        old = sums.get((cells[i], cells[i + 1]), [0, 0])
        sums[cells[i], cells[i + 1]] = [old[0] + cells[i + 3], old[1] + cells[i + 4]]
    return sums


def check_moving(what, data, size, steps):
    all_steps = steps * size
    check_counts(what, data, {"MPI_Isend": [all_steps, 100 * all_steps], "MPI_Irecv": [all_steps, 0], "MPI_Waitall": [all_steps, 0],
                              "MPI_Sendrecv": [all_steps, 8 * all_steps], "MPI_Allreduce": [all_steps, 8 * all_steps],
                              "MPI_Start": [2 * size, 80 * size], "MPI_Recv": [2 * size, 0], "MPI_Finalize": [size, 0]})
    wanted = {(rank, (rank + 1) % size): [2 * steps + 2, 108 * steps + 80] for rank in range(size)}
    expect(messages(data) == wanted, f"{what}: messages {messages(data)}")
    world = data["families"][0]
    expect(world["call"] == "MPI_COMM_WORLD" and world["bytes"] == 8 * steps * size, f"{what}: world {world}")


def at_random(seed, processes, each):
    what, steps = f"random:{seed}, {processes} x {each}", 25
    size = processes * each
    _, data = random_moves(seed, "moving", processes, each, steps, 1)
    check_moving(what, data, size, steps)
    moved = check_chains(what, data, each)
    _, data = random_moves(seed, "stencil", processes, each, steps, 96)
    check_counts(what, data, {"MPI_Isend": [2 * steps * size, 2 * steps * size * 96], "MPI_Allreduce": [steps * size, 8 * steps * size]})
    return moved + check_chains(what, data, each)


def balanced(processes, each):
    """The page says how often ranks have moved, as -summary does, and what it gained."""
    what, steps, size = f"-balance, {processes} x {each}", 60, processes * each
    text, data = run(["-balance", "-summary", "-n", str(processes), "-nfg", str(each), f"{FOLDER}/moving", str(steps), "8"])
    line = re.search(r"balance of \d+ processes: ranks have moved (\d+) times, (\d+) of these home", text)
    expect(line, f"{what}: no line of -summary", text)
    check_moving(what, data, size, steps)
    moved = check_chains(what, data, each)
    expect(moved > 0 and moved == int(line.group(1)), f"{what}: {moved} moves", text)
    words = data["timeline"]["text"]
    expect(f"ranks have moved {moved} times, {line.group(2)} of these home" in words and words in text, f"{what}: {words}", text)
    expect(all(0 <= m[0] <= data["run"]["seconds"] + 0.1 for m in data["timeline"]["moves"]), f"{what}: times of moves")
    # What ranks did is seen wherever they are: the rows are filled as those of others.
    rows = {row[0]: row[1] for row in data["timeline"]["rows"]}
    for rank in {m[1] for m in data["timeline"]["moves"]} & set(rows):
        seen = sum(code != "0" for code in rows[rank])
        expect("0" not in rows[rank].strip("0"), f"{what}: rank {rank} has a gap: {rows[rank]}")
        expect(seen > 0.8 * len(rows[rank]), f"{what}: rank {rank} was seen for {seen} of {len(rows[rank])} columns: {rows[rank]}")


def deadlock():
    """A job that ends badly has its counts and moves, too."""
    text, data = random_moves(3, "moving", 2, 3, 25, 1, "deadlock", status=1)
    check_counts("deadlock", data, {"MPI_Isend": [150, 15000], "MPI_Recv": [18, 0]})
    expect("deadlock" in data["run"]["end"], f"the end: {data['run']['end']}", text)
    expect(check_chains("deadlock", data, 3, ended=False) > 0, "deadlock: no moves", text)


def abort():
    """A rank calls MPI_Abort, where it is away or at home."""
    for seed in range(1, 7):
        text, data = random_moves(seed, "stencil", 2, 3, 25, 96, "abort", status=1)
        expect("a rank called MPI_Abort" in data["run"]["end"], f"random:{seed}: the end: {data['run']['end']}", text)


def main():
    shapes = [(1, 1, 1), (1, 1, 4), (1, 2, 4), (2, 3, 2), (2, 2, 3), (3, 4, 1), (4, 2, 64)]
    moved = sum(at_random(*shape) for shape in shapes)
    expect(moved > 100, f"only {moved} moves at random")
    balanced(2, 8)
    balanced(3, 6)
    deadlock()
    abort()
    _, data = run(["-n", "2", "-nfg", "2", f"{FOLDER}/moving", "5", "1"])
    expect(data["timeline"]["moves"] is None and data["timeline"]["text"] == "", "moves of a job whose ranks stay")
    print(f"ok, {moved} moves at random")


main()
