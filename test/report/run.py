#!/usr/bin/env python3
"""Runs programs under mpiexec -report and compares what it says with what was counted by hand.

  run.py BIN FOLDER     BIN: the build tree's; FOLDER: stencil, bad and waits, compiled
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from busy import busy_loops

BIN, FOLDER = sys.argv[1:3]
os.environ.pop("FGMPI_TRANSPORT", None)  # the messages by each transport are counted
STEPS, BYTES = 25, 96


def mpiexec(*words, **options):
    return subprocess.Popen([f"{BIN}/mpiexec", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def run(*words, status=0):
    """Its standard error. status None: any but 0."""
    job = mpiexec(*words)
    err = job.communicate(timeout=120)[1]
    good = job.returncode == status or (status is None and job.returncode != 0)
    expect(good, f"{words}: status {job.returncode} instead of {status}", err)
    return err


def expect(good, what, text=""):
    if not good:
        sys.exit(f"FAILED: {what}\n{text}")


def number(pattern, text):
    """The number in the first group; 0 where the text has none."""
    found = re.search(pattern, text)
    return int(found.group(1).replace(",", "")) if found else 0


def stencil(processes, ranks):
    """Counts of a stencil in its summary."""
    page = os.path.join(os.environ["TMPDIR"], "page.html")
    text = run("-summary", "-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/stencil", str(STEPS), str(BYTES))
    size = processes * ranks
    between = 2 * processes * STEPS if processes > 1 else 0
    stencil_page(page, size, processes, between)
    os.unlink(page)
    for what, pattern, wanted in [
            ("messages in a process", r"([\d,]+) in a process", 2 * STEPS * size - between),
            ("messages by shared memory", r"([\d,]+) by shared memory", between),
            ("MPI_Isend", r"MPI_Isend +([\d,]+)", 2 * STEPS * size),
            ("MPI_Irecv", r"MPI_Irecv +([\d,]+)", 2 * STEPS * size),
            ("MPI_Allreduce", r"MPI_Allreduce +([\d,]+)", STEPS * size),
            ("MPI_Barrier", r"MPI_Barrier +([\d,]+)", size),
            ("ranks", r"report: ([\d,]+) ranks", size)]:
        found = number(pattern, text)
        expect(found == wanted, f"{processes} x {ranks}: {what}: {found} instead of {wanted}", text)
    expect("exit status 0: all ranks ended" in text, f"{processes} x {ranks}: the end", text)


def read_page(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(len(text) < 2_000_000, f"the page has {len(text)} bytes")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def stencil_page(path, size, processes, between):
    """The same numbers on the page; and whom each rank sends to."""
    data = read_page(path)
    calls = {c[0]: c[2:4] for c in data["calls"]}
    sent = 2 * STEPS * size
    expect(calls["MPI_Isend"] == [sent, sent * BYTES], f"MPI_Isend: {calls}")
    expect(calls["MPI_Allreduce"] == [STEPS * size, STEPS * size * 8], f"MPI_Allreduce: {calls}")
    expect(calls["MPI_Waitall"][0] == STEPS * size, f"MPI_Waitall: {calls}")
    expect(data["ways"] == [[sent - between, (sent - between) * BYTES], [between, between * BYTES], [0, 0], [0, 0]], f"ways: {data['ways']}")
    world = data["families"][0]
    expect(world["collectives"] == (STEPS + 1) * size and world["bytes"] == STEPS * size * 8 and world["made"] == 1, f"world: {world}")
    runs = {row[0]: (row[1], row[2], sum(int(n.replace(",", "")) for n in re.findall(r" ([\d,]+)", row[4]))) for row in world["by"]}
    between_processes = processes if processes > 1 else 0
    expect(runs == {"MPI_Allreduce": (STEPS * size, STEPS * size * 8, STEPS * between_processes),
                    "MPI_Barrier": (size, 0, between_processes)}, f"collectives: {world['by']}")
    cells = [data["matrix"]["cells"][i : i + 5] for i in range(0, len(data["matrix"]["cells"]), 5)]
    shift = data["matrix"]["shift"]
    wanted = {}
    for rank in range(size):
        for to in ((rank + 1) % size, (rank - 1) % size):
            key = (rank >> shift, to >> shift, int(rank * processes // size != to * processes // size))
            wanted[key] = wanted.get(key, 0) + STEPS
    expect({tuple(c[:3]): c[3] for c in cells} == wanted, f"matrix of {size} ranks")
    expect(all(c[4] == c[3] * BYTES for c in cells), "bytes of the matrix")
    expect(len(data["processes"]) == processes and data["run"]["end"].startswith("exit status 0"), "processes, end")


def job_text(job):
    shown = subprocess.run([f"{BIN}/fgmpi-info", "-job", str(job.pid)], capture_output=True, text=True)
    return shown.stdout + shown.stderr


def job_of(*options):
    """fgmpi-info -job of a job that hangs."""
    job = mpiexec(*options, "-n", "2", "-nfg", "2", f"{FOLDER}/stencil", "10", "8", "hang")
    expect(job.stdout.readline() == "hangs\n", "the program begins")
    time.sleep(0.3)
    text = job_text(job)
    job.terminate()
    job.communicate(timeout=60)
    return text


def running_jobs():
    page = os.path.join(os.environ["TMPDIR"], "page.html")
    for options in (["-summary"], ["-report", page], ["-ft", "-report", page]):
        text = job_of(*options)
        expect(text.startswith("4 ranks in 2 processes") and re.search(r" [23]  MPI_Barrier at stencil.c:\d+ \(end_badly\): ranks 0(, 1|-2)\n", text) and
               re.search(r" 1  in the program, its last call at stencil.c:\d+ \(end_badly\): rank 3\n", text), f"{options}: a job's ranks", text)
    os.unlink(page)
    for options in ([], ["-ft"]):
        text = job_of(*options)
        if "may not be read" not in text:  # the right to trace a process
            expect(text.startswith("4 ranks in 2 processes") and re.search(r"  waits in MPI_Barrier \(MPI_COMM_WORLD\): rank", text),
                   f"{options}: a job's ranks", text)


def ring_of_a_job():
    """Where each rank waits for its neighbour it is one line, however many they are."""
    for processes, ranks in ((1, 10), (4, 3), (2, 64), (2, 500)):
        for options, line in [((), r"waits in MPI_Recv \(source \(own \+ 1\), tag 7, MPI_COMM_WORLD\)"),
                              (("-summary",), r"MPI_Recv \(source \(own \+ 1\), tag 7, MPI_COMM_WORLD\) at stencil.c:\d+ \(end_badly\)")]:
            job = mpiexec(*options, "-env", "FGMPI_DEADLOCK", "off", "-n", str(processes), "-nfg", str(ranks),
                          f"{FOLDER}/stencil", "1", "8", "deadlock")
            size, text, deadline = processes * ranks, "", time.time() + 60
            wanted = rf"{size} ranks in {processes} process\w* on this host\n +{size}  {line}: ranks 0-{size - 1}\n"
            while time.time() < deadline and "may not be read" not in text and not re.fullmatch(wanted, text):
                text = job_text(job)
            job.terminate()
            job.communicate(timeout=60)
            # Without the right to read memory the counters still say from whom.
            by_counters = options and re.search(rf" {size}  MPI_Recv at stencil.c:\d+ \(end_badly\); from rank \(own \+ 1\): ", text)
            expect("may not be read" in text or by_counters or re.fullmatch(wanted, text), f"ring of {processes} x {ranks}, {options}", text)


def waits_of_a_job(work):
    """What ranks wait for, read from memory; the job goes on."""
    for processes, ranks in ((2, 2), (1, 4), (4, 1)):
        job = mpiexec("-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/waits", f"{work}/go")
        expect(job.stdout.readline() == "waits\n", "the program begins")
        deadline = time.time() + 60
        lines = (r" 1  waits in MPI_Recv \(source 3, tag 7, halo <\d+,\d+>\): rank 0\n",
                 r" 1  waits in MPI_Waitall \(2 requests, the first: MPI_Irecv source 3, tag 8, MPI_COMM_WORLD\): rank 1\n",
                 r" 1  waits in MPI_Ssend \(to rank 3, tag 9, MPI_COMM_WORLD\): rank 2\n", r" 1  asleep: rank 3\n")
        text = ""
        while time.time() < deadline and "may not be read" not in text and not all(re.search(line, text) for line in lines):
            text = job_text(job)
        expect("may not be read" in text or all(re.search(line, text) for line in lines), f"waits of {processes} x {ranks}", text)
        open(f"{work}/go", "w").close()
        expect(job.stdout.readline() == "goes on\n" and job.wait(timeout=60) == 0, "the job goes on")
        os.remove(f"{work}/go")


def on_a_terminal():
    parent, child = os.openpty()
    job = subprocess.Popen([f"{BIN}/mpiexec", "-progress", "-n", "2", "-nfg", "2", f"{FOLDER}/bad", "150", "12"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    text = b""
    try:
        while chunk := os.read(parent, 4096):
            text += chunk
    except OSError:  # the last writer is gone
        pass
    os.close(parent)
    expect(job.wait(timeout=60) == 0 and b"\r4 ranks: " in text and b" messages/s; " in text, "-progress", text.decode())
    expect(not run("-progress", "-n", "2", f"{FOLDER}/stencil", "5", "8"), "-progress without a terminal")


def ended_badly():
    for how, status, words in [("crash", 6, "(signal 6, "), ("abort", 9, "exit status 9: the job was ended before its ranks were (a rank called MPI_Abort);"), ("deadlock", 1, "a deadlock"),
                               ("signal", 11, "(signal 11, "), ("killed", 9, "(signal 9, "), ("exit", 3, "exit status 3"),
                               ("exit9", 9, "exit status 9")]:
        text = run("-summary", "-n", "2", "-nfg", "2", f"{FOLDER}/stencil", "10", "8", how, status=status)
        expect(words in text and "4 of 4 ranks had not come to MPI_Finalize" in text and "at stencil.c:" in text, how, text)
        expect(how in ("crash", "signal", "killed") or "(signal " not in text, f"{how}: no signal is named", text)
    for number_, words in [(signal.SIGTERM, "exit status 15"), (signal.SIGKILL, "mpiexec was killed")]:
        job = mpiexec("-summary", "-n", "2", "-nfg", "2", f"{FOLDER}/stencil", "10", "8", "hang")
        expect(job.stdout.readline() == "hangs\n", "the program begins")
        time.sleep(0.2)
        job.send_signal(number_)
        text = job.communicate(timeout=60)[1]
        # Whether the rank that shares the process of the one that hangs has begun its barrier before depends on the scheduler.
        expect(words in text and re.search("[23] in MPI_Barrier at stencil.c:", text)
               and re.search("1 in the program, after its call at stencil.c:.*: rank 3", text), f"signal {number_}", text)


def one_status():
    """The status of a job is that of the process that ended badly, however busy the machine is."""
    with busy_loops(2):
        for how, status, runs in [("crash", 6, 30), ("exit", 3, 10), ("killed", 9, 10), ("exit9", 9, 30)]:
            for i in range(runs):
                run("-summary", "-n", str(2 + i % 3), "-nfg", "2", f"{FOLDER}/stencil", "10", "8", how, status=status)


def memory_of_ranks(work):
    """Stacks and written global variables of ranks over time."""
    page = os.path.join(work, "page.html")
    for processes, ranks in [(1, 4), (2, 2), (4, 1)]:
        run("-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/memory")
        rows = {row[0]: [value >> 10 for value in row[1]] for row in read_page(page)["memory"]["ranks"]}
        os.unlink(page)
        most = {rank: max(values) for rank, values in rows.items()}
        where = f"memory of {processes} x {ranks}"
        expect(sorted(most) == [0, 1, 2, 3], f"{where}: ranks {sorted(most)}")
        expect(704 <= most[2] < 900 and most[0] < 200 and most[3] < 200, f"{where}: stacks: {most}")
        if ranks > 1:  # the first rank of a process has the program's own variables, which are not seen
            expect(4096 <= most[1] < 4400, f"{where}: variables: {most}")
            # It rises only; at the end the stack is given back.
            expect(min(rows[1]) < 1024 and all(b >= a - 64 for a, b in zip(rows[1], rows[1][1:])), f"{where}: over time: {rows[1]}")


def lives(work):
    """When communicators were made and freed: how many by hand, when by the program's own clock."""
    page = os.path.join(work, "page.html")
    for processes, ranks in [(1, 4), (4, 1), (2, 64)]:
        job = mpiexec("-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/lives")
        said, err = job.communicate(timeout=120)
        expect(job.returncode == 0, "lives", err)
        events = {}
        for line in said.splitlines():
            name, *times = line.split()
            events.setdefault(name, []).append([float(t) for t in times])
        families = read_page(page)["families"]
        os.unlink(page)
        size, where = processes * ranks, f"{processes} x {ranks}"
        found = {name: next(f for f in families if f["call"] == call and f["parent"] >= 0 and families[f["parent"]]["call"] == of)
                 for name, call, of in [("copy", "MPI_Comm_dup", "MPI_COMM_WORLD"), ("half", "MPI_Comm_split", "MPI_COMM_WORLD"),
                                        ("kept", "MPI_Comm_dup", "MPI_Comm_split")]}
        for name, made, left in [("copy", 3, 0), ("half", 2, 0), ("kept", 2, size)]:
            f = found[name]
            expect([f["made"], f["handles"], f["left"]] == [made, size * (3 if name == "copy" else 1), left], f"{where}: {name}: {f}")
        zero, start = found["copy"]["when"][0], events["copy"][0]
        for name, f in found.items():
            freed = events.get("-" + name)
            for what, seconds, event in [("made first", f["when"][0], events[name][0]), ("made last", f["when"][1], events[name][-1]),
                                         *([("freed first", f["when"][2], freed[0]), ("freed last", f["when"][3], freed[-1])] if freed else [])]:
                least, most = event[0] - start[1], event[1] - start[0]
                expect(least - 2e-3 <= seconds - zero <= most + 2e-3, f"{where}: {name}: {what}: {seconds - zero}: {least} to {most}")
            if freed:
                pairs = list(zip(events[name], freed))
                least, most = (sum(b[i] - a[1 - i] for a, b in pairs) / len(pairs) for i in (0, 1))
                expect(least - 2e-3 <= f["when"][4] <= most + 2e-3, f"{where}: {name} lived {f['when'][4]}: {least} to {most}")
            else:
                expect(f["when"][2:] == [-1, -1, -1], f"{where}: {name} is not freed: {f['when']}")


def copies(work):
    """Communicators of nonblocking calls, of groups and between groups: from what, where, how many, how many not freed."""
    page = os.path.join(work, "page.html")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "copies.c"), encoding="utf-8") as file:
        calls = [(re.search(r"(MPI_(Comm_idup\w*|Comm_create_group|Intercomm_\w+))\(", line), "(inter," in line, i)
                 for i, line in enumerate(file, 1)]
    line_of = {c[1] + ("2" if c[1] == "MPI_Comm_idup" and of_inter else ""): f"copies.c:{i} (main)" for c, of_inter, i in calls if c}
    for processes, ranks in [(1, 4), (4, 1), (2, 64)]:
        run("-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/copies")
        families, size = read_page(page)["families"], processes * ranks
        os.unlink(page)
        found = {(f["call"], families[f["parent"]]["call"]): [f["place"], f["made"], f["handles"], f["left"], f["collectives"]]
                 for f in families if f["parent"] >= 0}
        world, group, inter = "MPI_COMM_WORLD", "MPI_Comm_create_group", "MPI_Intercomm_create"
        expect(found == {
            ("MPI_Comm_idup", world): [line_of["MPI_Comm_idup"], 3, 3 * size, 2 * size, 3 * size],
            ("MPI_Comm_idup_with_info", "MPI_Comm_idup"): [line_of["MPI_Comm_idup_with_info"], 1, size, size, size],
            (group, world): [line_of[group], 2, size, size, size],
            (inter, group): [line_of[inter], 1, size, size, size],
            ("MPI_Comm_idup", inter): [line_of["MPI_Comm_idup2"], 1, size, 0, size],
            ("MPI_Intercomm_merge", inter): [line_of["MPI_Intercomm_merge"], 1, size, size, size]}, f"{processes} x {ranks}: {found}")


def algorithms(work):
    """The algorithm of each collective of a communicator."""
    page = os.path.join(work, "page.html")
    run("-report", page, "-env", "FGMPI_COLL_ALLREDUCE", "ring", "-env", "FGMPI_COLL_BARRIER", "tree", "-n", "3", "-nfg", "2",
        f"{FOLDER}/stencil", str(STEPS), "8")
    rows = [[row[0], row[4]] for row in read_page(page)["families"][0]["by"]]
    os.unlink(page)
    expect(rows == [["MPI_Allreduce", f"ring {3 * STEPS}"], ["MPI_Barrier", "tree 3"]], f"algorithms: {rows}")


def bad_program(work):
    page = os.path.join(work, "page.html")
    text = run("-summary", "-report", page, "-n", "1", "-nfg", "10", f"{FOLDER}/bad", "150", "12")
    for words in ("A rank starves others: rank 1 ", "Communicators are made again and again and not freed: 12 ",
                  "Races: 108 receives from MPI_ANY_SOURCE"):
        expect(words in text, f"bad: {words}", text)
    # The summary has the six worst findings, the page has all. In which order ranks run decides whether rank 0 also waits for
    # one while messages of others lie there.
    with open(page, encoding="utf-8") as file:
        expect("Many small messages: " in file.read(), "bad: many small messages", text)
    os.unlink(page)


def transfers(work, processes, ranks):
    """One-sided operations: how many, how many bytes, from whom to whom; and bytes of files."""
    page, size = os.path.join(work, "page.html"), processes * ranks
    text = run("-summary", "-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/transfers", f"{work}/data")
    data = read_page(page)
    os.unlink(page)
    os.unlink(f"{work}/data")
    sent = [size * 9, size * (5 * 24 + 3 * 16 + 8)]
    expect(data["ways"][3] == sent and f"one-sided: {sent[0]:,} operations" in text, f"one-sided {processes} x {ranks}: {data['ways']}", text)
    expect(data["files"][:2] == [size * 32, size * 64], f"files {processes} x {ranks}: {data['files']}")
    shift, wanted = data["matrix"]["shift"], {}
    for rank in range(size):
        for to, operations, bytes_ in ((rank + 1) % size, 8, 5 * 24 + 3 * 16), (size - 1, 1, 8):
            sums = wanted.setdefault((rank >> shift, to >> shift), [0, 0])
            sums[0] += operations
            sums[1] += bytes_
    cells = [data["matrix"]["cells"][i : i + 5] for i in range(0, len(data["matrix"]["cells"]), 5)]
    expect({tuple(c[:2]): c[3:] for c in cells if c[2] == 3} == wanted, f"one-sided {processes} x {ranks}: the matrix")


def fortran(work):
    """Lines of the program, whichever binding it uses."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines.F90"), encoding="utf-8") as file:
        line_of = {line.rsplit("! ")[-1].strip(): f"lines.F90:{i} (lines)" for i, line in enumerate(file, 1) if "error)  ! " in line}
    page = os.path.join(work, "page.html")
    for host in (1, 2, 3):
        for processes, ranks in [(1, 4), (4, 1), (2, 64)]:
            run("-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/lines{host}")
            data = read_page(page)
            os.unlink(page)
            made = {f["place"]: (f["made"], f["handles"], f["left"]) for f in data["families"] if f["call"] == "MPI_Comm_dup"}
            each = (8, 8 * processes * ranks, 0)
            expect(made == {line_of["first"]: each, line_of["second"]: each}, f"binding {host}, {processes} x {ranks}: {made}")
            expect([line_of["waits"], "MPI_Allreduce"] in [p[:2] for p in data["places"]],
                   f"binding {host}, {processes} x {ranks}: {data['places']}")


def looks(work):
    """Both reports say how seldom ranks were looked at, if it was seldom; what was seen is nearly all of the time of the run."""
    page = f"{work}/looks.html"
    for processes, ranks in [(1, 4), (2, 5000)]:
        text = run("-summary", "-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/farm", str(2 * ranks), "20")
        data = read_page(page)
        # How often depends on how fast the machine is.
        care, few = data["run"]["care"], 30
        start = ("Looked at only" if data["run"]["looks"] < few else
                 "Each rank was looked at only" if data["run"]["each"] < few else "")
        expect(care.startswith(start) and bool(care) == bool(start) and care in text, f"{processes} x {ranks}: few looks", text + care)
    seen = sum(data["time"]) / (processes * ranks * data["run"]["seconds"])
    expect(0.6 < seen < 1.1, f"{seen} of the time of all ranks was seen", text)
    os.unlink(page)


def refusals():
    for words, line in [(("-report", "a.txt"), "ends in .html"), (("-report", "/nowhere/a.html"), "cannot be written"),
                        (("-summary", "-check"), "allowed is one of them")]:
        text = run(*words, "-n", "1", f"{FOLDER}/stencil", "1", "1", status=1)
        expect(line in text, f"{words}", text)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        for processes, ranks in [(1, 1), (1, 4), (4, 1), (2, 3), (2, 5), (1, 10), (64, 2), (2, 64), (2, 5000)]:
            stencil(processes, ranks)
        os.environ["FGMPI_SCHED"] = "random:7"
        stencil(2, 64)
        del os.environ["FGMPI_SCHED"]
        ended_badly()
        one_status()
        running_jobs()
        waits_of_a_job(scratch)
        ring_of_a_job()
        on_a_terminal()
        algorithms(scratch)
        copies(scratch)
        lives(scratch)
        memory_of_ranks(scratch)
        for processes, ranks in [(1, 4), (4, 1), (2, 64), (2, 5000)]:
            transfers(scratch, processes, ranks)
        bad_program(scratch)
        fortran(scratch)
        looks(scratch)
        refusals()
        left = os.listdir(scratch)
        expect(not left, f"left behind: {left}")
    print("ok")


main()
