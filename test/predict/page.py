#!/usr/bin/env python3
"""The page of mpiexec -predict -report: its times are those of the predicted machine.

  page.py BIN PROGRAM MACHINE     PROGRAM: page.c, compiled; MACHINE: machine.json
"""

import json
import os
import re
import subprocess
import sys
import tempfile

BIN, PROGRAM, MACHINE = map(os.path.abspath, sys.argv[1:4])
wrong = []


def expect(good, what, text=""):
    if not good:
        wrong.append(what)
        print("FAILED:", what, text)


def near(value, wanted, what):
    expect(abs(value - wanted) <= 0.01 * wanted, f"{what}: {value} instead of {wanted}")


def mpiexec(*words, **variables):
    return subprocess.run([f"{BIN}/mpiexec", *words], capture_output=True, text=True, timeout=100, env=dict(os.environ, **variables),
                          stdin=subprocess.DEVNULL)


def page_of(*options, machine=MACHINE, ranks=4, **variables):
    """The data of the page, the page, and what mpiexec has printed."""
    done = mpiexec("-predict", machine, "-predict-compute=none", "-report", "page.html", *options, "-n", str(ranks), PROGRAM, **variables)
    expect(done.returncode == 0, f"{options}: status {done.returncode}", done.stderr)
    with open("page.html") as file:
        page = file.read()
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1)), page, done.stderr


def share(codes, doing):
    return codes.count(doing) / len(codes)


def check_times():
    data, page, said = page_of()
    expect(data["run"]["predicted"] == {"machine": "test", "nodes": 2}, "the machine", data["run"]["predicted"])
    expect("<title>mpiexec -report: times of test</title>" in page, "the title")
    expect(re.search(r"predicted: 15\.5\d* ms on test, 4 ranks", said), "the summary", said)
    near(data["run"]["seconds"], 15.53e-3, "the time")
    nothing, program, turn, message, completion, collective = data["time"][:6]
    expect(nothing == turn == 0, "waits for turns")
    near(program, 15e-3, "in the program")
    near(message, 10e-3 + 5.53e-3 + 0.53e-3, "in sends and receives")
    near(completion, 10e-3, "in waits")
    near(collective, 5.53e-3 + 15.53e-3, "in collectives")
    expect([rank for rank, _ in data["waited"]] == [0], "whom others waited for", data["waited"])
    near(data["waited"][0][1], 10e-3 + 10e-3 + 0.53e-3, "waits for rank 0")
    expect(any(f["title"].startswith("Late sender: others waited 20.5 ms for messages of rank 0") for f in data["findings"]),
           "the late sender", data["findings"])
    rows = dict(data["timeline"]["rows"])
    for rank, doing, wanted in ((0, "1", 10 / 15.53), (1, "3", 10 / 15.53), (2, "4", 10 / 15.53), (2, "1", 5 / 15.53), (3, "5", 1)):
        expect(abs(share(rows[rank], doing) - wanted) < 0.02, f"rank {rank} in the timeline", rows[rank])
    expect(re.fullmatch("1+3+5*", rows[0]) and re.fullmatch("3+5+", rows[1]), "the order of the timeline", rows)
    expect(data["ways"] == [[1, 4], [0, 0], [2, 4 + (1 << 20)], [0, 0]], "the ways of messages", data["ways"])
    cells = sorted(tuple(data["matrix"]["cells"][i:i + 5]) for i in range(0, len(data["matrix"]["cells"]), 5))
    expect(cells == [(0, 1, 0, 1, 4), (0, 2, 2, 2, 4 + (1 << 20))], "the matrix", cells)
    places = {place.split(" ")[0]: seconds for place, _, seconds in data["places"]}
    expect(all(place.startswith("page.c:") for place in places), "the lines", places)
    return data


def check_repeats(first):
    """The same page in each run, and with other options; lines of the critical path are those of the program."""
    again = page_of(FGMPI_SCHED="random:3")[0]
    for part in ("time", "waited", "timeline", "matrix", "calls"):
        expect(first[part] == again[part], f"{part} repeats")
    explained, _, said = page_of("-predict-explain")
    expect(first["time"] == explained["time"], "the time with -predict-explain")
    expect(" page.c:" in said and "report" not in said, "the critical path's lines", said)
    by_setting = mpiexec("-predict", MACHINE, "-n", "4", PROGRAM, FGMPI_REPORT="setting.html")
    expect(by_setting.returncode == 0 and os.path.exists("setting.html"), "FGMPI_REPORT", by_setting.stderr)


def check_placement():
    with open(MACHINE) as file:
        text = file.read().replace('"ranks": 2', '"ranks": 2, "placement": "cyclic"').replace('"name": "test"', '"name": "<b>"')
    with open("cyclic.json", "w") as file:
        file.write(text)
    data, page, _ = page_of(machine="cyclic.json")
    expect(data["ways"] == [[2, 4 + (1 << 20)], [0, 0], [1, 4], [0, 0]], "the ways of cyclic ranks", data["ways"])
    expect("times of &lt;b></title>" in page, "a name with <")
    # More ranks than the timeline has rows, and names of peers in more than one number.
    data = page_of(ranks=200)[0]
    expect(len(data["timeline"]["rows"]) == 64 and data["run"]["predicted"]["nodes"] == 100, "200 ranks", data["run"])


def check_refusals():
    for words, said in ((["-ranks", "2,4", "-report", "a.html"], "-report is allowed with one number of ranks; 2 are given"),
                        (["-summary", "-n", "2"], "allowed beside it are -n, -nfg, -ranks, -report"),
                        (["-report", "a.txt", "-n", "2"], "allowed is a name that ends in .html")):
        done = mpiexec("-predict", MACHINE, *words, PROGRAM)
        expect(done.returncode == 1 and said in done.stderr, f"{words}", done.stderr)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    check_repeats(check_times())
    check_placement()
    check_refusals()
sys.exit(1 if wrong else 0)
