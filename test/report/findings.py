#!/usr/bin/env python3
"""Each kind of observation in a report: a program that has it, and a twin that has not.

  findings.py BIN FOLDER     BIN: the build tree's; FOLDER: findings and stencil, compiled
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

BIN, FOLDER = sys.argv[1:3]
LATE = r"Late sender: others waited [\d.]+ m?s for messages of rank 1\n"
RACES = r"Races: {others} receives from MPI_ANY_SOURCE"
# What the bad one's summary says, and what the twin's does not; {others}: ranks but one.
KINDS = {
    "late_sender": (LATE, "Late sender"),
    "late_sender_of_requests": (LATE, "Late sender"),
    "late_receiver": (r"Late receiver: others waited [\d.]+ m?s for rank 1 ", "Late receiver"),
    "serialised": (r"Serialised receives: rank 0 waited [\d.]+ m?s for one rank while messages of others lay", "Serialised"),
    "small": (r"Many small messages: [\d,]+ of [\d,]+ could", "Many small"),
    "imbalance": (r"Imbalance: (process|rank) 0 computes [\d.]+ times as long", "Imbalance"),
    "wildcards": (RACES, "Races"),
    "wildcards_by_tag": (None, "Races"),
    "wildcards_later": (RACES, "Races"),
    "communicators": (r"Communicators are made again and again and not freed: 50 by one MPI_Comm_split", "Communicators are"),
    "starves": (r"A rank starves others: rank 1 ran for [\d.]+ m?s without a call of MPI while \d+ of its process", "starves"),
}


def summary(processes, ranks, *words):
    job = subprocess.run([f"{BIN}/mpiexec", "-summary", "-n", str(processes), "-nfg", str(ranks), *words],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    return job.returncode, job.stderr


def check(case):
    """"" or what is wrong."""
    kind, twin, processes, ranks = case
    said, not_said = KINDS[kind]
    status, text = summary(processes, ranks, f"{FOLDER}/findings", kind, twin)
    wanted = said.replace("{others}", str(processes * ranks - 1)) if said else None
    good = not wanted or re.search(wanted, text) if twin == "bad" else not_said not in text
    return "" if status == 0 and good else f"{case}: status {status}\n{text}"


def nothing(processes, ranks):
    """A program that is over in less than a millisecond: no share of its time is worth a word."""
    status, text = summary(processes, ranks, f"{FOLDER}/stencil", "1", "8")
    return "" if status == 0 and "nothing stands out" in text else f"stencil {processes} x {ranks}: status {status}\n{text}"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        cases = [(kind, twin, processes, ranks) for processes, ranks in [(1, 4), (4, 1), (2, 3), (2, 64)] for kind in KINDS
                 for twin in ("bad", "good") if kind != "starves" or ranks > 1]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            wrong = [text for text in pool.map(check, cases) if text] + [nothing(1, 4), nothing(2, 3)]
        left = os.listdir(scratch)
    wrong = [text for text in wrong if text]
    if wrong or left:
        sys.exit("\n".join(wrong) + f"FAILED: {len(wrong)}; left behind: {left}")
    print("ok")


main()
