#!/usr/bin/env python3
"""Instructions of common paths through the library, by callgrind, compared with those recorded in path_counts.json.

  path_counts.py BUILD [PATH...]             counts, prints a line for each path; the status is 1 when one has grown by more
                                             than LIMIT, 77 when there is no record for this compiler, C library, valgrind
                                             and kind of build
  path_counts.py --record BUILD [PATH...]    writes what it counts into path_counts.json (--file: into another file)

BUILD is a build folder such as build/default, in which `ninja benchmark_path_counts` has built the program. A count is exact: it
depends neither on the clock nor on what the machine does beside. What each path does stands in path_counts.c. The counts of
collocated ranks are the instructions of the whole process, for one message or, in collectives, for one rank.
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 0.02
SKIPPED = 77  # the status by which ctest knows a skipped test
# The jobs: what it is called, ranks a process, processes, arguments, and its paths with the number of operations in one turn.
JOBS = [
    ("pair", 2, 1, [], {"send_recv": 2, "send_recv_status": 2, "gaps_send_recv": 2, "probe_recv": 2, "sendrecv": 2,
                        "isend_irecv_waitall": 64, "persistent": 2, "testany_in_vain": 2, "put_flush": 1}),
    ("pair_multiple", 2, 1, ["multiple"], {"send_recv": 2, "isend_irecv_waitall": 64}),
    ("group", 16, 1, [], {"barrier": 16, "allreduce": 16, "bcast": 16, "ibarrier_wait": 16, "comm_split": 16}),
    ("processes", 1, 2, [], {"remote_send": 16, "remote_recv": 16}),
]


def names_of(job):
    """Returns the paths of a job: those at MPI_THREAD_MULTIPLE have names of their own."""
    return {path + ("_multiple" if "multiple" in job[3] else ""): path for path in job[4]}


def command(program, job, paths, folder, bin_folder):
    _, ranks, processes, arguments, _ = job
    inner = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts.%p", program, *arguments, *paths]
    return inner if processes == 1 else [f"{bin_folder}/mpiexec", "-n", str(processes), "-nfg", str(ranks), *inner]


def dumps_in(folder):
    """Returns {path: {turns of its loop: instructions}} of what callgrind has written in a folder."""
    found = {}
    for file in os.listdir(folder):
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            content = text.read()
        name = re.search(r"^desc: Trigger: Client Request: (\w+) ?(\d*)$", content, re.M)
        total = re.search(r"^(?:totals|summary): (\d+)", content, re.M)
        if name and total:
            found.setdefault(name.group(1), {})[int(name.group(2) or 0)] = int(total.group(1))
    return found


def one_turn(dumps):
    """Returns the instructions of one turn of a loop: by the difference of two dumps, or those of the only one."""
    if len(dumps) == 1:
        return next(iter(dumps.values()))
    (few, less), (many, more) = sorted(dumps.items())
    return (more - less) / (many - few)


def count(build, job, wanted):
    """Runs one job; returns {name of the path: instructions of one operation}."""
    names = {name: path for name, path in names_of(job).items() if name in wanted}
    if not names:
        return {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("FGMPI_", "PMI_"))}
    environment.update(FGMPI_NFG=str(job[1]))
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(command(f"{build}/benchmarks/path_counts", job, list(names.values()), folder, f"{build}/bin"),
                             env=environment, text=True, capture_output=True, timeout=300, check=False)
        if ran.returncode:
            sys.exit(f"path_counts.py: {job[0]}: status {ran.returncode}\n{ran.stdout}{ran.stderr}")
        dumps = dumps_in(folder)
    counts = {}
    for name, path in names.items():
        if path not in dumps:
            sys.exit(f"path_counts.py: callgrind has written no dump of {path}: was path_counts compiled without "
                     "valgrind/callgrind.h?")
        counts[name] = round(one_turn(dumps[path]) / job[4][path], 1)
    return counts


def cache_of(build):
    """Returns the entries of a build folder's CMakeCache.txt."""
    entries = {}
    with open(f"{build}/CMakeCache.txt", encoding="utf-8") as text:
        for line in text:
            parts = re.match(r"([\w-]+):\w+=(.*)", line)
            if parts:
                entries[parts.group(1)] = parts.group(2)
    return entries


def compiler_of(cache):
    """Returns the name and version of the compiler, as `g++ 12.2.0`."""
    path = cache.get("CMAKE_CXX_COMPILER", "c++")
    text = subprocess.run([path, "--version"], text=True, capture_output=True, check=True).stdout.split("\n")[0]
    version = re.search(r"\d+\.\d+\.\d+", text)
    return ("clang " if "clang" in text else "g++ ") + (version.group(0) if version else text)


def surroundings(build):
    """Returns what counts depend on besides the sources."""
    cache = cache_of(build)
    flags = [cache.get("CMAKE_BUILD_TYPE", ""), cache.get("CMAKE_CXX_FLAGS", ""),
             "unity" if cache.get("CMAKE_UNITY_BUILD") in ("ON", "1", "TRUE") else ""]
    flags += [name for name in ("FGMPI_SANITIZE", "FGMPI_FORCE_SWITCH", "FGMPI_WITHOUT") if cache.get(name, "OFF") not in
              ("", "OFF")]
    valgrind = subprocess.run(["valgrind", "--version"], text=True, capture_output=True, check=True).stdout.strip()
    return {"processor": platform.machine(), "compiler": compiler_of(cache), "libc": " ".join(platform.libc_ver()),
            "valgrind": valgrind, "build": " ".join(flag for flag in flags if flag)}


def record_for(here, records):
    return next((record for record in records if record["surroundings"] == here), None)


def differences(here, records):
    """Returns in words what is other here than in the record that is most like this."""
    def others(record):
        return [f"{key} {here[key]}, recorded {record['surroundings'][key]}" for key in here
                if here[key] != record["surroundings"].get(key)]
    return "; ".join(min((others(record) for record in records), key=len)) if records else "nothing is recorded"


def compare(counts, recorded):
    """Prints a line for each path; returns the number of those that have grown by more than LIMIT or are not recorded."""
    bad = smaller = 0
    for name, now in counts.items():
        before = recorded.get(name)
        if before is None:
            bad += 1
            print(f"{name:<30}{now:>10.1f}  not recorded")
            continue
        change = now / before - 1
        bad += change > LIMIT
        smaller += change < -LIMIT
        note = f"GREW by more than {LIMIT:.0%}" if change > LIMIT else ""
        print(f"{name:<30}{now:>10.1f}{before:>10.1f}  {change:+.2%} {note}".rstrip())
    if smaller:
        print(f"{smaller} became smaller by more than {LIMIT:.0%}: record them, so that they stay so")
    if bad:
        print(f"{bad} of {len(counts)} are too large. Where the growth has a reason, say it in the commit and record the counts: "
              "benchmarks/micro/path_counts.py --record BUILD")
    return bad


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--record", action="store_true", help="write the counts into path_counts.json")
    parse.add_argument("--file", default=os.path.join(HERE, "path_counts.json"), help="the record (path_counts.json)")
    parse.add_argument("build", metavar="BUILD")
    parse.add_argument("paths", metavar="PATH", nargs="*")
    options = parse.parse_args()
    build = os.path.abspath(options.build)
    known = [name for job in JOBS for name in names_of(job)]
    for path in options.paths:
        if path not in known:
            parse.error(f"there is no path {path}; allowed are {', '.join(known)}")
    try:
        here = surroundings(build)
    except FileNotFoundError as missing:
        print(f"skipped: {missing.filename} is not there")
        return SKIPPED
    with open(options.file, encoding="utf-8") as text:
        records = json.load(text)
    record = record_for(here, records)
    if record is None and not options.record:
        print(f"skipped: the counts are recorded for other surroundings: {differences(here, records)}")
        return SKIPPED
    counts = {}
    for job in JOBS:
        counts.update(count(build, job, options.paths or known))
    if not options.record:
        return 1 if compare(counts, record["counts"]) else 0
    for name, now in counts.items():
        print(f"{name:<30}{now:>10.1f}")
    if record is None:
        record = {"surroundings": here, "counts": {}}
        records.append(record)
    record["counts"].update(counts)
    with open(options.file, "w", encoding="utf-8") as text:
        text.write(json.dumps(records, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
