#!/usr/bin/env python3
"""Compares the clocks of random programs under mpiexec -predict with those of a naive simulator, which knows nothing of the first.

  random_programs.py MPIEXEC RANDOM_PROGRAMS [--programs N] [--seconds S] [--seed S]

The naive simulator keeps a list of all that happens, in the order of time, and takes the ranks' steps one by one, the rank that is
behind first. Programs in which two events meet at the same time at the same port are left out: their order is a convention."""

import argparse
import bisect
import json
import os
import random
import subprocess
import sys
import tempfile
import time

POLL, LOOK = 50, 20  # what a poll and a look at the clock take, ns: Simulator's kPollCost and kClockCost


class Tie(Exception):
    pass


class Piece:
    def __init__(self, dice, scale, first):
        self.first = first
        self.latency, self.send, self.receive, self.gap = (dice.randrange(1, scale) for _ in range(4))
        self.per_byte = dice.choice([1, 2, 4, 5])

    def keys(self):
        return {"from": self.first, "latency_ns": self.latency, "send_ns": self.send, "receive_ns": self.receive, "gap_ns": self.gap,
                "gb_s": 1 / self.per_byte}


class Link:
    def __init__(self, dice, scale):
        self.pieces = [Piece(dice, scale, first) for first in ([0] if dice.random() < 0.6 else [0, 250])]
        self.eager = dice.choice([0, 300, 1000])

    def piece(self, size):
        return [p for p in self.pieces if p.first <= size][-1]

    def keys(self):
        return {"eager": self.eager, "pieces": [p.keys() for p in self.pieces]}


class Machine:
    def __init__(self, dice):
        self.inside, self.between = Link(dice, 500), Link(dice, 3000)
        self.node_ranks = dice.choice([1, 2, 3, 8])
        self.overlaps = True

    def keys(self):
        return {"nodes": {"ranks": self.node_ranks}, "links": {"inside": self.inside.keys(), "between": self.between.keys()}}

    def node(self, rank):
        return rank // self.node_ranks


class Message:
    def __init__(self, source, target, context, tag, size, link, waits):
        self.source, self.target, self.context, self.tag, self.size, self.link, self.waits = source, target, context, tag, size, link, waits
        self.receive, self.here = None, False
        self.sent_at = 0 if not waits else None  # when its send is complete


class Receive:
    def __init__(self, source, context, tag, posted):
        self.source, self.context, self.tag, self.posted = source, context, tag, posted
        self.done = self.message = None

    def fits(self, m):
        return self.context == m.context and self.tag == m.tag and self.source in (-1, m.source)


class Rank:
    def __init__(self, clock, steps, run):
        self.clock, self.arrived, self.posted, self.requests = clock, [], [], []
        self.thread = run(self, steps)
        self.waits = None  # until this is true
        self.clocks, self.finished = [], False


class Naive:
    def __init__(self, machine, clocks, programs):
        self.machine, self.events, self.ports, self.under_way, self.number = machine, [], {}, {}, 0
        self.ranks = [Rank(c, p, lambda rank, steps: self.run(rank, steps)) for c, p in zip(clocks, programs)]
        for i, rank in enumerate(self.ranks):
            rank.number = i

    def add(self, at, what, *arguments):
        self.number += 1
        bisect.insort(self.events, (at, self.number, what, arguments))

    def simulate(self):
        """Takes the earliest event, or a step of the rank that is behind; an event goes first at the same time."""
        while True:
            able = [r for r in self.ranks if not r.finished and (r.waits is None or r.waits())]
            behind = min(able, key=lambda r: r.clock, default=None)
            if behind and (not self.events or behind.clock < self.events[0][0]):
                behind.waits = None
                try:
                    behind.waits = next(behind.thread)
                except StopIteration:
                    behind.finished = True
            elif self.events:
                self.now, _, what, arguments = self.events.pop(0)
                what(*arguments)
            else:
                break
        stuck = [r.number for r in self.ranks if not r.finished]
        assert not stuck, f"ranks {stuck} wait for ever"

    # Messages -----------------------------------------------------------------------------------

    def port(self, rank, link, direction, size):
        key = (direction, "node", self.machine.node(rank)) if link is self.machine.between else (direction, "rank", rank)
        free, last = self.ports.get(key, (0, -1))
        if last == self.now:
            raise Tie
        begun = max(free, self.now)
        piece = link.piece(size)
        self.ports[key] = (begun + max(size * piece.per_byte, piece.gap), self.now)
        return begun

    def send(self, rank, target, context, tag, size, synchronous):
        link = self.machine.inside if self.machine.node(rank.number) == self.machine.node(target) else self.machine.between
        rank.clock += link.piece(size).send
        m = Message(rank.number, target, context, tag, size, link, synchronous or size > link.eager)
        if context == 0:
            self.under_way.setdefault((rank.number, target), []).append(m)
        self.add(rank.clock, self.leave, m, 0 if m.waits else size, self.arrive)
        return m

    def leave(self, m, size, then):
        begun = self.port(m.source, m.link, "out", size)
        if then == self.deliver:
            self.add(begun + size * m.link.piece(size).per_byte, self.sent, m)
        self.add(begun + m.link.piece(size).latency, self.reach, m, size, then)

    def reach(self, m, size, then):
        self.add(self.port(m.target, m.link, "in", size) + size * m.link.piece(size).per_byte, then, m)

    def sent(self, m):
        m.sent_at = self.now

    def arrive(self, m):
        """Messages of the program do not overtake earlier ones of their sender to their receiver."""
        m.here = True
        before = self.under_way.get((m.source, m.target), []) if m.context == 0 else [m]
        while before and before[0].here:
            self.match(before.pop(0))

    def match(self, m):
        rank = self.ranks[m.target]
        m.arrived_at = self.now
        for r in rank.posted:
            if r.fits(m):
                rank.posted.remove(r)
                return self.joined(m, r, max(self.now, r.posted))
        rank.arrived.append(m)

    def post(self, rank, source, context, tag):
        r = Receive(source, context, tag, rank.clock)
        for m in rank.arrived:
            if r.fits(m):
                rank.arrived.remove(m)
                self.joined(m, r, rank.clock)
                return r
        rank.posted.append(r)
        return r

    def joined(self, m, r, at):
        r.message, m.receive = m, r
        if m.waits:
            self.add(at + m.link.piece(0).latency, self.leave, m, m.size, self.deliver)
        else:
            r.done = at

    def deliver(self, m):
        m.receive.done = self.now

    # Steps --------------------------------------------------------------------------------------

    def finish(self, rank, r):
        """The rank takes a receive that is done, or whose time of being done is known, or a send."""
        if isinstance(r, Receive):
            rank.clock = max(rank.clock, r.done) + r.message.link.piece(r.message.size).receive
        else:
            rank.clock = max(rank.clock, r.sent_at)

    @staticmethod
    def done(r):
        return r.done if isinstance(r, Receive) else r.sent_at

    def look(self, rank):
        rank.clock += LOOK
        rank.clocks.append(rank.clock)

    def run(self, rank, steps):
        """A generator: what it yields is what it waits for."""
        for what, *arguments in steps:
            yield from getattr(self, "do_" + what)(rank, *arguments)
            self.look(rank)

    def at_clock(self, rank):
        """Waits until all before its clock has happened."""
        yield lambda: not self.events or self.events[0][0] > rank.clock

    def do_sleep(self, rank, ns):
        rank.clock += ns + POLL
        yield from self.at_clock(rank)

    def do_send(self, rank, target, tag, size, synchronous=False, context=0):
        yield from self.at_clock(rank)
        m = self.send(rank, target, context, tag, size, synchronous)
        if m.waits:
            yield lambda: m.sent_at is not None
            self.finish(rank, m)

    def do_ssend(self, rank, target, tag, size):
        yield from self.do_send(rank, target, tag, size, True)

    def do_isend(self, rank, target, tag, size):
        yield from self.at_clock(rank)
        rank.requests.append(self.send(rank, target, 0, tag, size, False))

    def do_recv(self, rank, source, tag, context=0):
        yield from self.at_clock(rank)
        r = self.post(rank, source, context, tag)
        yield lambda: r.done is not None
        self.finish(rank, r)

    def do_irecv(self, rank, source, tag):
        yield from self.at_clock(rank)
        rank.requests.append(self.post(rank, source, 0, tag))

    def do_probe(self, rank, source, tag):
        pattern = Receive(source, 0, tag, 0)
        fitting = lambda: [m for m in rank.arrived if pattern.fits(m)]  # noqa: E731
        yield from self.at_clock(rank)
        yield fitting
        rank.clock = max(rank.clock, fitting()[0].arrived_at) + POLL

    def do_waitall(self, rank):
        yield from self.at_clock(rank)
        left = [r for r in rank.requests if r]
        yield lambda: all(self.done(r) is not None for r in left)
        for r in sorted(left, key=self.done):
            self.finish(rank, r)
        rank.requests = []

    def do_waitany(self, rank):
        yield from self.at_clock(rank)
        over = lambda: [r for r in rank.requests if r and self.done(r) is not None]  # noqa: E731
        if all(r is None for r in rank.requests):
            return
        yield over
        at = max(rank.clock, min(self.done(r) for r in over()))
        first = next(r for r in over() if self.done(r) <= at)
        rank.clock = at
        self.finish(rank, first)
        rank.clock += POLL
        rank.requests[rank.requests.index(first)] = None

    def do_barrier(self, rank):
        n, distance = len(self.ranks), 1
        while distance < n:
            yield from self.do_send(rank, (rank.number + distance) % n, distance, 0, False, 1)
            yield from self.do_recv(rank, (rank.number - distance) % n, distance, 1)
            distance *= 2

    def do_bcast(self, rank, root, size):
        n = len(self.ranks)
        me, mask = (rank.number - root) % n, 1
        while mask < n and not me & mask:
            mask *= 2
        if me:
            yield from self.do_recv(rank, (me - mask + root) % n, 0, 2)
        sends = []
        while mask > 1:
            mask //= 2
            if me + mask < n:
                yield from self.at_clock(rank)
                sends.append(self.send(rank, (me + mask + root) % n, 2, 0, size, False))
        # All sends are under way at once, then the member waits for them.
        yield lambda: all(m.sent_at is not None for m in sends)
        for m in sends:
            self.finish(rank, m)


def random_program(dice, ranks):
    """Steps of all ranks. Messages are dealt out in one order, which keeps blocking ones from waiting for each other in a circle.
    Receives from any rank have a tag of their own and short messages."""
    steps = [[] for _ in range(ranks)]
    for _ in range(dice.randrange(5, 25)):
        kind = dice.random()
        if kind < 0.15:
            steps[dice.randrange(ranks)].append(("sleep", dice.randrange(1, 20000)))
        elif kind < 0.22 and ranks > 1:
            step = ("barrier",) if dice.random() < 0.5 else ("bcast", dice.randrange(ranks), dice.choice([0, 8, 900, 4000]))
            for own in steps:
                own.append(step)
        elif kind < 0.32:
            steps[dice.randrange(ranks)].append(("waitany",))
        elif kind < 0.42:
            steps[dice.randrange(ranks)].append(("waitall",))
        elif ranks > 1:
            source, target = dice.sample(range(ranks), 2)
            free = dice.random() < 0.3
            tag, size = (2, 0) if free else (1, dice.choice([0, 10, 299, 301, 2000, 9000]))
            steps[source].append((dice.choice(["send", "isend"]) if free else dice.choice(["send", "isend", "ssend"]), target, tag, size))
            if not free and dice.random() < 0.2:
                steps[target].append(("probe", source, tag))
            steps[target].append((dice.choice(["recv", "irecv"]), -1 if free else source, tag))
    for own in steps:
        own.append(("waitall",))
    return steps


def run_predicted(arguments, folder, machine, programs, ranks):
    with open(f"{folder}/machine.json", "w") as file:
        json.dump(machine.keys(), file)
    with open(f"{folder}/programs", "w") as file:
        for program in programs:
            for rank, steps in enumerate(program):
                for step in [("begin",), *steps]:
                    print(rank, *step, file=file)
        for rank in range(ranks):
            print(rank, "begin", file=file)  # MPI_Finalize sends messages, too
    command = [arguments.mpiexec, "-predict", f"{folder}/machine.json", "-predict-compute=none", "-genv", "FGMPI_SCHED", arguments.scheduler,
               "-n", str(ranks), arguments.program, f"{folder}/programs", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    clocks = []
    for rank in range(ranks):
        with open(f"{folder}/{rank}") as file:
            clocks.append([int(line) for line in file])
    return clocks


def compare(arguments, dice, folder, programs_a_run):
    """Returns how many programs were compared."""
    ranks, machine = dice.randrange(2, 9), Machine(dice)
    programs = [random_program(dice, ranks) for _ in range(programs_a_run)]
    clocks = run_predicted(arguments, folder, machine, programs, ranks)
    at, compared = [0] * ranks, 0
    for number, program in enumerate(programs):
        seen = [clocks[r][at[r]:at[r] + 1 + len(program[r])] for r in range(ranks)]
        at = [at[r] + 1 + len(program[r]) for r in range(ranks)]
        naive = Naive(machine, [own[0] for own in seen], program)
        try:
            naive.simulate()
        except Tie:
            continue
        compared += 1
        for rank in range(ranks):
            if seen[rank][1:] != naive.ranks[rank].clocks:
                print(f"seed {arguments.seed}, program {number}, rank {rank} of {ranks}; machine {json.dumps(machine.keys())}")
                for r in range(ranks):
                    for step, got, wanted in zip(program[r], seen[r][1:], naive.ranks[r].clocks):
                        print(f"  {r} {' '.join(map(str, step)):24} {got - seen[r][0]:10} naive {wanted - seen[r][0]:10}"
                              f"{'' if got == wanted else '  DIFFERS'}")
                sys.exit(1)
    return compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpiexec")
    parser.add_argument("program")
    parser.add_argument("--programs", type=int, default=0, help="so many; without it: as many as --seconds allows")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    end, compared = time.monotonic() + arguments.seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while compared < arguments.programs if arguments.programs else time.monotonic() < end:
            arguments.scheduler = dice.choice(["fifo", "lifo", "random:1", f"random:{dice.randrange(1000)}"])
            compared += compare(arguments, dice, folder, 40)
    print(f"{compared} programs: all clocks equal")
    sys.exit(0 if compared > 100 else "too few programs were compared")


main()
