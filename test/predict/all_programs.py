#!/usr/bin/env python3
"""Runs the programs of test/mpi with predicted times: they end as they do without.

  all_programs.py BIN BUILD [--match REGEX] [--shapes 4x1,3x2] [--every N] [--machine NAME] [--jobs N]

The tests of the build tree (ctest) with one of the shapes (ranks of a process x processes) give the programs, their arguments and
settings. --every N takes every N-th of them. Each runs with as many ranks by mpiexec -predict, where all ranks share a process, and has to end well if it does so in one
process without a prediction. ELSEWHERE lists what cannot be predicted, with the reason. The status is 0 when all others end well."""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

ELSEWHERE = [
    (r"coll\.burst", "it measures memory: a collective that is under way takes more when it is predicted"),
    (r"coll\.(lengths_differ|operations)", "it is wrong on purpose: members leave such collectives at other times"),
    (r"comm\.session_buffers", "a program without MPI_Init has no clocks"),
    (r"dynamic\.errors", "it waits for a second outside of MPI, which takes no time of the predicted machine"),
    (r"dynamic\.(spawn|reconnect|torrent|fortran_parent|other_programs|proclets_errors)", "it spawns other programs, or ranks in other "
     "numbers a process: spawned ranks share the process and its program, so an error refuses them"),
    (r"pt2pt\.buffers", "it fills a buffer of MPI_Buffer_attach: the simulator copies such messages at once"),
    (r"pt2pt\.request_status", "it expects that messages to itself have arrived at once"),
    (r"outside\.signals", "signals are to interrupt its sleeps, which take no real time"),
    (r"outside\.descriptors", "it waits for descriptors for a time, which is real"),
    (r"tools\.stencil", "it counts searches of the library's queues, from which messages are held back"),
    (r"tools\.written", "it changes the library's eager limit: that of the predicted machine holds"),
    (r"mpi\.threads\.", "several threads of a rank call MPI: MPI_THREAD_FUNNELED is given"),
]


def tests(build):
    """Name, command and environment of each test that starts mpiexec."""
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        command = test.get("command", [])
        if command and os.path.basename(command[0]) == "mpiexec":
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            yield test["name"], command, properties.get("ENVIRONMENT", [])


def ends(arguments, command, settings):
    """Runs a job. Returns why it does not end well, or None."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([os.path.join(arguments.bin, "mpiexec"), *command], capture_output=True, text=True, timeout=arguments.timeout,
                                  env=settings, cwd=folder, stdin=subprocess.DEVNULL, errors="replace")
        except subprocess.TimeoutExpired:
            return "does not end"
    return None if done.returncode == 0 else f"status {done.returncode}: {(done.stdout + done.stderr)[-400:]}"


def run(arguments, name, command, environment):
    """Returns why the program does not end as it does without a prediction, or None."""
    settings = dict(os.environ, **dict(s.split("=", 1) for s in environment if "=" in s))
    ranks, processes = map(int, re.search(r"\.(\d+)x(\d+)", name).groups())
    words, rest = iter(command[1:]), []
    for word in words:
        if word in ("-n", "-nfg"):
            next(words)
        else:
            rest.append(word)
    number = str(ranks * processes)
    why = ends(arguments, ["-predict", arguments.machine, "-predict-compute=none", "-n", number, *rest], settings)
    # Some programs need several processes.
    return why if why and not ends(arguments, ["-n", "1", "-nfg", number, *rest], settings) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("build")
    parser.add_argument("--match", default="")
    parser.add_argument("--shapes", default="4x1,3x2")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--machine", default="infiniband-hdr")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=100)
    arguments = parser.parse_args()
    chosen, elsewhere = [], 0
    for name, command, environment in tests(arguments.build):
        if not re.search(r"^mpi\.", name) or not re.search(arguments.match, name):
            continue
        if not any(re.search(rf"\.{shape}(\.|$)", name) for shape in arguments.shapes.split(",")):
            continue
        if any(re.search(pattern, name) for pattern, _ in ELSEWHERE):
            elsewhere += 1
        else:
            chosen.append((name, command, environment))
    wrong, chosen = 0, chosen[::arguments.every]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (name, _, _), why in zip(chosen, pool.map(lambda t: run(arguments, *t), chosen)):
            if why:
                wrong += 1
                print(f"{name}: {why}", flush=True)
    print(f"{len(chosen)} runs, {wrong} not as they should be; {elsewhere} left out")
    sys.exit(1 if wrong or not chosen else 0)


main()
