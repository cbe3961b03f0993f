#!/usr/bin/env python3
"""Runs the programs of test/mpi and examples/ under mpiexec -check and prints the findings.

  programs.py BIN BUILD [--match REGEX] [--shapes CxP,...] [--as CxP] [--jobs N] [--kinds KIND,...] [--access]

BUILD: the build tree. Its tests (ctest) have the shapes, arguments and settings of the programs; --shapes selects shapes, and
--as runs all selected tests at another shape. --access compiles the programs in C and C++ again, by mpicc -check, so that their
loads and stores are checked; other programs are left out. A correct program must have no finding; WRONG lists programs that are
wrong on purpose, with their findings. A program that has a finding about buffering must hang without buffering
(FGMPI_SEND_BUFFERING=zero). Notes do not count. The status is 0 when all results are as expected.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

# Tests whose programs are wrong: the kinds of their findings, and the reason.
WRONG = [
    (r"abi\.callbacks", "leaks", "a key of attributes is left"),
    (r"abi\.values", "types,files", "a message that is too long; a file is read after one MPI_File_sync and a barrier"),
    (r"basic\.conversions", "arguments", "the buffers of MPI_Sendrecv overlap"),
    (r"basic\.infos", "arguments", "infos that were freed: what the errors say"),
    (r"basic\.registries", "leaks", "keys of attributes are left for the end of the job"),
    (r"apps\.caching_library", "leaks", "a library that keeps its key of attributes"),
    (r"attr\.attributes", "arguments", "a communicator is used after it was freed: what the error says"),
    (r"attr\.datatypes", "leaks", "a type is left for the end of the job"),
    (r"coll\.errors", "arguments,collectives,types", "buffers that overlap or have another type, counts that do not agree: what errors say"),
    (r"coll\.(failed_rounds|fails_over_tree|lengths_differ|mismatch|wrong_arguments)", "collectives,types,arguments",
     "members give different roots, counts or types: what the errors say"),
    (r"coll\.lengths", "collectives,types", "members give different lengths: what the error says"),
    (r"coll\.mixed_orders", "collectives", "members call a blocking and a nonblocking collective in different orders: MPICH allows it"),
    (r"coll\.operations", "arguments,collectives,types",
     "a type that was not committed or is not the buffer's, counts that do not agree: what errors say"),
    (r"comm\.inter_leaders", "collectives", "members of a group give different local leaders: what the error says"),
    (r"comm\.system_ranked_errors", "collectives", "members make different calls: what the error says"),
    (r"datatype\.bounds", "arguments", "types that were not committed, or were freed: what errors say"),
    (r"datatype\.nested", "types", "packed bytes are received as the types that they are"),
    (r"datatype\.large", "arguments", "a receive for more than memory has"),
    (r"datatype\.short", "types", "messages that are too long"),
    (r"threads\.layouts", "arguments,types", "messages with gaps that are received as bytes, errors that are returned"),
    (r"file\.datareps", "leaks", "a type of a data representation is left"),
    (r"file\.files\.", "files,types", "as below; a read of short integers into a buffer of int, which is refused"),
    (r"file\.(fortran_f08|fortran_module|hints|model|requests)\.", "files",
     "they read after a barrier alone what others have written: the library allows it, MPI wants MPI_File_sync, too"),
    (r"bound\.bully", "buffering", "who does not answer receives an election after its result: it polls with timeouts, so nothing hangs"),
    (r"pt2pt\.borders", "types", "messages that are too long"),
    (r"pt2pt\.pieces", "types,status", "messages that are too long; it measures its memory"),
    (r"pt2pt\.request_status", "types", "a message that is too long"),
    (r"pt2pt\.errors", "types,arguments,buffers", "what errors say"),
    (r"pt2pt\.others_run", "windows,leaks", "it makes very many calls without waiting: accesses share one variable, a send is left"),
    (r"pt2pt\.partitioned_orders", "arguments",
     "partitioned requests are freed and cancelled while they are active: what the errors say"),
    (r"rma\.errors", "arguments,types", "what errors say"),
    (r"rma\.operations", "windows", "accumulates of different operations meet: MPI assumes that they do not (accumulate_ops)"),
    # These have no findings, but they measure memory, and -check needs some.
    (r"coll\.burst|dynamic\..*cycles|memory", "status", "they measure their own memory"),
    (r"tools\.stencil", "status", "it counts bytes between processes, some of which are the checker's"),
]


def tests(build):
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        command = test.get("command", [])
        if not command or os.path.basename(command[0]) != "mpiexec" or "-check" in command:
            continue
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield test["name"], command, properties.get("ENVIRONMENT", [])


def at_shape(command, shape):
    """Returns the command with other numbers of ranks and processes."""
    ranks, processes = shape.split("x")
    other = {"-nfg": ranks, "-n": processes}
    return [other.get(before, word) for before, word in zip(["", *command], command)]


def beside_the_same(program, folder):
    """Returns the path in a new folder for a program of this name. All that is beside it is beside this one, too: it may start
    other programs."""
    os.mkdir(folder)
    for name in os.listdir(os.path.dirname(program)):
        if name != os.path.basename(program):
            os.symlink(os.path.join(os.path.dirname(program), name), os.path.join(folder, name))
    return os.path.join(folder, os.path.basename(program))


def with_accesses(arguments, chosen, folder):
    """Returns the tests with programs compiled by mpicc -check."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    made = {}
    for name, command, environment in chosen:
        at = next((i for i, word in enumerate(command) if word.startswith(os.path.join(os.path.abspath(arguments.build), ""))
                   and "/bin/" not in word), None)
        if at is None:
            continue
        program = command[at]
        if program not in made:
            made[program] = beside_the_same(program, os.path.join(folder, str(len(made))))
            base = os.path.join(root, os.path.relpath(program, os.path.abspath(arguments.build)))
            source = next((base + end for end in (".c", ".cc") if os.path.exists(base + end)), None)
            wrapper = "mpicc" if source and source.endswith(".c") else "mpicxx"
            command_line = [os.path.join(arguments.bin, wrapper), "-check", "-g", "-O1", "-w", "-pthread", "-I", os.path.join(root, "test/mpi"),
                            str(source), "-o", made[program], "-lm"]
            if not source or subprocess.run(command_line, capture_output=True).returncode:
                made[program] = None
        if made[program]:
            yield name, [*command[:at], made[program], *command[at + 1 :]], environment


def expected(name):
    return next((set(kinds.split(",")) for test, kinds, _ in WRONG if re.search(test, name)), set())


def checked(arguments, kinds, command, settings):
    """Runs a test. Returns its findings, status and output, or the reason why it did not run."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        option = "-check" + ("=" + kinds if kinds else "")
        command = [os.path.join(arguments.bin, "mpiexec"), option, "-check-report", report, *command[1:]]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, env=settings, cwd=folder,
                                  stdin=subprocess.DEVNULL, errors="replace")
        except subprocess.TimeoutExpired:
            return None, "does not end"
        try:
            with open(report) as file:
                findings = [f for f in json.load(file)["findings"] if f.get("level") != "note"]
        except (OSError, ValueError) as wrong:
            return None, f"report: {wrong}: {done.stderr[-300:]}"
    return findings, "" if done.returncode == 0 else f"status {done.returncode}: {(done.stdout + done.stderr)[-400:]}"


def run(arguments, name, command, environment):
    """Returns the reason why a result is not the expected one, or None."""
    settings = dict(os.environ, **dict(s.split("=", 1) for s in environment if "=" in s))
    findings, status = checked(arguments, arguments.kinds, command, settings)
    if findings is None:
        return status
    unwanted = [f for f in findings if f["kind"] not in expected(name)]
    if any(f["kind"] == "buffering" for f in unwanted):
        without, _ = checked(arguments, "buffering", command, dict(settings, FGMPI_SEND_BUFFERING="zero", FGMPI_DEADLOCK="abort"))
        if without:
            unwanted = [f for f in unwanted if f["kind"] != "buffering"]
    if unwanted:
        lines = [f'{f["kind"]}: {f["sentence"]}' + "".join(
            f'\n      {c["call"]}({c["arguments"]}) {c.get("file", "?")}:{c.get("line", 0)} {c["role"]}' for c in f["calls"][:3])
            for f in unwanted[:4]]
        return "\n    ".join(lines)
    if not findings and status and "status" not in expected(name):
        return status
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("build")
    parser.add_argument("--match", default="")
    parser.add_argument("--shapes", default="")
    parser.add_argument("--as", dest="as_shape", default="", metavar="CxP")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--access", action="store_true")
    parser.add_argument("--timeout", type=int, default=120)
    arguments = parser.parse_args()
    arguments.bin = os.path.abspath(arguments.bin)  # the programs run in folders of their own
    shapes = arguments.shapes.split(",") if arguments.shapes else []
    chosen = [t for t in tests(arguments.build) if re.search(arguments.match, t[0])
              and (not shapes or any(f".{shape}" in t[0] for shape in shapes))]
    if arguments.as_shape:
        chosen = [(f"{name} as {arguments.as_shape}", at_shape(command, arguments.as_shape), environment)
                  for name, command, environment in chosen]
    folder = tempfile.TemporaryDirectory()
    if arguments.access:
        chosen = list(with_accesses(arguments, chosen, folder.name))
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (name, _, _), why in zip(chosen, pool.map(lambda t: run(arguments, *t), chosen)):
            if why:
                wrong += 1
                print(f"{name}: {why}", flush=True)
    print(f"{len(chosen)} runs, {wrong} not as they should be")
    sys.exit(1 if wrong else 0)


main()
