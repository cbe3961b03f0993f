#!/usr/bin/env python3
"""Compares patterns of messages through topologies with their closed forms, to 0.1 %.

  topologies.py MPIEXEC PATTERNS

Ports pass 1 byte a nanosecond, so that N bytes take N ns alone. With -predict-contention=links transfers share the links of their
ways: a link of bandwidth c with k messages needs k N / c.
"""

import json
import os
import subprocess
import sys
import tempfile

MPIEXEC, PROGRAM = sys.argv[1:]
BYTES = 1_000_000
PORT = 1000  # latency between nodes without the network's
CONTENDED = "links"


def leaves(down, *levels):
    return {"topology": "fat tree", "levels": [{"down": down}, *levels]}


# Name, network, ranks, what is expected of patterns: (messages on the busiest link, its bytes a nanosecond, latencies of the way)
CASES = [
    ("no network", None, 8, {"all": (7, 1, 0), "1": (1, 1, 0), "4": (1, 1, 0)}),
    ("switch", {"topology": "switch", "latency_ns": 500}, 8, {"all": (7, 1, 500), "3": (1, 1, 500)}),
    ("bounded switch", {"topology": "switch", "gb_s": 4}, 8, {"all": (56, 4, 0), "1": (8, 4, 0)}),
    # Of the 7 messages of a node 4 leave its switch.
    ("thin up-link", leaves(4, {"down": 2, "gb_s": 0.5, "latency_ns": 100}), 8, {"all": (16, 0.5, 200), "4": (4, 0.5, 200), "1": (1, 0.5, 200)}),
    ("two up-links", leaves(4, {"down": 2, "up": 2, "gb_s": 1}), 8, {"4": (2, 1, 0)}),
    ("full bisection", leaves(4, {"down": 2, "up": 4, "gb_s": 1}), 8, {"4": (1, 1, 0), "all": (7, 1, 0)}),
    ("three levels", leaves(2, {"down": 2, "up": 2, "gb_s": 1}, {"down": 2, "up": 1, "gb_s": 1, "latency_ns": 300}), 8,
     {"4": (2, 1, 600), "2": (1, 1, 600)}),
    # A message to the second neighbour takes two links, so each link has two messages.
    ("ring", {"topology": "torus", "dimensions": [8], "gb_s": 0.5, "latency_ns": 50}, 8, {"1": (1, 0.5, 50), "2": (2, 0.5, 100), "3": (3, 0.5, 150)}),
    ("torus", {"topology": "torus", "dimensions": [4, 4], "gb_s": 0.5, "latency_ns": 50}, 16,
     {"4": (1, 0.5, 50), "12": (1, 0.5, 50), "8": (2, 0.5, 100), "1": (1, 0.5, 100)}),
    ("dragonfly", {"topology": "dragonfly", "groups": 3, "routers": 2, "nodes": 2, "global": 1, "in group": {"gb_s": 10, "latency_ns": 20},
                   "between groups": {"gb_s": 0.5, "latency_ns": 400}}, 12, {"4": (4, 0.5, 440), "8": (4, 0.5, 440)}),
    ("graph", {"topology": "graph", "nodes": 4, "links": [{"ends": [0, "a"]}, {"ends": [1, "a"]}, {"ends": ["b", 2]}, {"ends": ["b", 3]},
                                                         {"ends": ["a", "b"], "gb_s": 0.25, "latency_ns": 70},
                                                         {"ends": ["a", "c"], "gb_s": 9}, {"ends": ["c", "b"], "gb_s": 9}]}, 4,
     {"2": (2, 0.25, 70), "1": (1, 0.25, 70), "all": (4, 0.25, 70)}),
]


def one_way(messages, bandwidth, latencies):
    """From the beginning to the end of long messages: an envelope, a permission, and the data."""
    return max(messages * BYTES / bandwidth, BYTES) + 3 * (PORT + latencies)


def predict(folder, network, ranks, patterns, contention, scheduler="fifo"):
    machine = {"nodes": {"ranks": 1}, "links": {"inside": {"latency_ns": 10, "gb_s": 100}, "between": {
        "latency_ns": PORT, "send_ns": 10, "receive_ns": 10, "gap_ns": 50, "gb_s": 1, "eager": 1000}}}
    if network:
        machine["network"] = network
    with open(f"{folder}/machine.json", "w") as file:
        json.dump(machine, file)
    command = [MPIEXEC, "-predict", f"{folder}/machine.json", "-predict-compute=none", f"-predict-contention={contention}", "-genv", "FGMPI_SCHED",
               scheduler, "-n", str(ranks), PROGRAM, str(BYTES), *patterns]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, network, ranks, patterns in CASES:
            output = predict(folder, network, ranks, patterns, CONTENDED)
            seen = dict(line.split() for line in output.splitlines() if line.split()[0] in patterns)
            for pattern, (messages, bandwidth, latencies) in patterns.items():
                expected = one_way(messages, bandwidth, latencies)
                good = abs(float(seen[pattern]) - expected) <= 0.001 * expected
                bad += not good
                print(f"{'ok ' if good else 'BAD'} {name:15} {pattern:4} {seen[pattern]:>10} expected {expected:10.0f}")
            for scheduler in ("lifo", "random:1", "random:7"):
                if predict(folder, network, ranks, patterns, CONTENDED, scheduler) != output:
                    print(f"BAD {name}: FGMPI_SCHED={scheduler} gives other times")
                    bad += 1
        # At the ends alone the way adds its latency only: the message takes what its port needs.
        for name, network, ranks, patterns in CASES:
            if "1" in patterns:
                got = float(predict(folder, network, ranks, ["1"], "ends").split()[1])
                expected = one_way(1, 1, patterns["1"][2])
                good = abs(got - expected) <= 0.001 * expected
                bad += not good
                print(f"{'ok ' if good else 'BAD'} {name:15} 1, ends {got:10.0f} expected {expected:10.0f}")
    sys.exit(1 if bad else 0)


main()
