#!/usr/bin/env python3
"""Compares the times that mpiexec -predict gives to closed_forms with their closed forms.

  closed_forms.py MPIEXEC PROGRAM MACHINE
"""

import subprocess
import sys

mpiexec, program, machine = sys.argv[1:]
CLOCK = 20  # what a look at the clock takes where computing takes nothing: Simulator's kClockCost
POLL = 50   # what a poll takes: kPollCost
SLEEP = POLL  # what a sleep takes more than its time

# Parameters of machine.json, ns and bytes.
IN = dict(latency=100, send=50, receive=50, per_byte=0.1)
OUT = dict(latency=1000, send=200, receive=300, per_byte=1)
LONG = dict(latency=2000, send=200, receive=300, per_byte=0.5)


def one_way(link, size, envelope=None):
    """From the beginning of the send to the end of the receive. envelope: the link's parameters for the messages in front of a
    long one."""
    handshake = 2 * envelope["latency"] if envelope else 0
    return link["send"] + handshake + link["latency"] + size * link["per_byte"] + link["receive"]


EXPECTED = {
    "inside": 2 * one_way(IN, 100),
    "between": 2 * one_way(OUT, 100),
    "any": 2 * one_way(OUT, 100),
    "rendezvous": 2 * one_way(OUT, 20000, OUT),
    "piece": 2 * one_way(LONG, 200000, OUT),
    # The second message leaves the port when the first has left it, and the receiver handles one after the other.
    "contended": OUT["send"] + 8000 + OUT["latency"] + 8000 + OUT["receive"],
    "first": 2,
    "late": 100000 + OUT["receive"],
    "tested": 200000 + one_way(OUT, 1),
    "probed": 200000 + one_way(OUT, 1),
    "bcast": OUT["send"] + IN["send"],
    "reduce": 300000 + one_way(IN, 4) + one_way(OUT, 4),
    # Four ranks in two nodes. Rank 0 gets rank 3's message after send, latency and receive (1500), sends, and so does rank 2, whose
    # message comes by the same way.
    "barrier": 2 * one_way(OUT, 0),
    # An exchange within the node, which combines 80 bytes at 10 GB/s, then one between the nodes.
    "allreduce": one_way(IN, 80) + 8 + one_way(OUT, 80) + 8,
    # An operation's data and its acknowledgement, or a request and the data; the lock is a round trip.
    "first put": 2 * OUT["send"] + 4 * OUT["latency"] + 100,
    "put": OUT["send"] + 2 * OUT["latency"] + 100,
    "get": OUT["send"] + 2 * OUT["latency"] + 100,
    "rget": OUT["send"] + 2 * OUT["latency"] + 100,
    "fetch": OUT["send"] + 2 * OUT["latency"] + 2 * 8,
    # Rank 0's put delays rank 1's message to rank 2, whose message rank 0 waits for last.
    "fence": OUT["send"] + 500 + OUT["latency"] + OUT["receive"] + one_way(OUT, 0),
    # A round trip, 100 us, then word of the release between the nodes, and of the grant within one.
    "lock": OUT["send"] + 2 * OUT["latency"] + 100000 + SLEEP + OUT["latency"] + IN["latency"],
    "start": 50000 + SLEEP + one_way(OUT, 0) + OUT["send"] + 2 * OUT["latency"] + 100 + OUT["send"],
    "write": 1e6,
    "writes": 4e6 / 2,
    "iread": 1e6,
    "parrived": one_way(OUT, 1000),
    "partitions": OUT["send"] + 100000 + SLEEP + one_way(OUT, 1000),
}
SLACK = {"tested": 3000, "probed": 3000, "reduce": 300, "writes": 3000, "parrived": 200}


def run(scheduler):
    command = [mpiexec, "-predict", machine, "-predict-compute=none", "-genv", "FGMPI_SCHED", scheduler, "-n", "4", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if done.returncode != 0 or "predicted:" not in done.stderr:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def main():
    done = run("fifo")
    seen = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    bad = 0
    for name, expected in EXPECTED.items():
        got = float(seen.get(name, "nan"))
        allowed = SLACK.get(name, 0) + 0.001 * expected + (0 if name == "first" else 2 * CLOCK)
        good = abs(got - expected) <= allowed
        bad += not good
        print(f"{'ok ' if good else 'BAD'} {name:12} {got:12.0f} expected {expected:12.0f}")
    # The prediction is the same in each run, whatever the order in which ranks run.
    for scheduler in ("fifo", "lifo", "random:1", "random:2", "random:77"):
        again = run(scheduler)
        if (again.stdout, again.stderr) != (done.stdout, done.stderr):
            print(f"BAD FGMPI_SCHED={scheduler} gives other times:\n{again.stdout}{again.stderr}\nthan\n{done.stdout}{done.stderr}")
            bad += 1
    sys.exit(1 if bad else 0)


main()
