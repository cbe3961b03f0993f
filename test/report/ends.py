#!/usr/bin/env python3
"""Jobs that end badly leave a page with how: by a signal, an exit status, MPI_Abort, kill -9, Ctrl-C, SIGTERM to mpiexec, a deadlock;
each several times beside two programs that keep the processors busy.

  ends.py BIN FOLDER [RUNS]     BIN: the build tree's; FOLDER: stencil, compiled; RUNS of each end and shape, 2 by default; half as many of 128 ranks or more
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
RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 2
SHAPES = ((1, 4), (4, 1), (1, 10), (2, 64), (64, 2), (2, 5000))
# What a rank does, or a signal for mpiexec; exit statuses that are right; what the page says.
ENDS = (("signal", (11,), 'exit status 11: .*\\(signal 11, "Segmentation fault", ended a process\\)'), ("abort", (9,), r"exit status 9: .*a rank called MPI_Abort"),
        ("killed", (9,), 'exit status 9: .*\\(signal 9, "Killed", ended a process\\)'), ("exit", (3,), "exit status 3:"), ("deadlock", (1,), "exit status 1: .*a deadlock"),
        (signal.SIGINT, (2,), '\\(mpiexec was sent signal 2, "Interrupt"\\)'), (signal.SIGTERM, (15,), '\\(mpiexec was sent signal 15, "Terminated"\\)'))


def fault_of(page, status, ranks, statuses, words):
    """What is wrong with a run; empty where nothing is."""
    try:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
    except (OSError, AttributeError, ValueError) as fault:
        return f"the page: {fault}"
    end = data["run"]["end"]
    if status not in statuses:
        return f"exit status {status}; the page says: {end}"
    if data["run"]["status"] != status or not re.search(words, end, re.S):
        return f"exit status {status}; the page has {data['run']['status']}: {end}"
    if data["run"]["ranks"] != ranks or f"{ranks:,} of {ranks:,} ranks had not come to MPI_Finalize" not in end:
        return f"{data['run']['ranks']} of {ranks} ranks: {end}"
    return ""


def one(folder, processes, ranks, how, statuses, words):
    page = f"{folder}/run.html"
    from_outside = isinstance(how, int)
    with subprocess.Popen([f"{BIN}/mpiexec", "-report", page, "-n", str(processes), "-nfg", str(ranks), f"{FOLDER}/stencil", "10", "8",
                           "hang" if from_outside else how], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as job:
        try:
            if from_outside:
                job.stdout.readline()
                # Ctrl-C goes to all of the terminal's group.
                (os.killpg if how == signal.SIGINT else os.kill)(job.pid, how)
            err = job.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            return "it hangs"
    fault = fault_of(page, job.returncode, processes * ranks, statuses, words)
    if os.path.exists(page):
        os.unlink(page)
    return f"{fault}\n{err[-1500:]}" if fault else ""


def main():
    faults = 0
    with busy_loops(2), tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        for processes, ranks in SHAPES:
            for how, statuses, words in ENDS:
                start = time.monotonic()
                runs = max(1, RUNS // 2) if processes * ranks >= 128 else RUNS  # those take seconds each
                found = [f for _ in range(runs) if (f := one(folder, processes, ranks, how, statuses, words))]
                faults += len(found)
                print(f"{processes} x {ranks}, {how}: {runs - len(found)} of {runs} right, {(time.monotonic() - start) / runs:.2f} s each", flush=True)
                for fault in found[:3]:
                    print("FAILED:", fault, flush=True)
        left = os.listdir(folder)
        if left:
            sys.exit(f"FAILED: left behind: {left}")
    sys.exit(1 if faults else 0)


main()
