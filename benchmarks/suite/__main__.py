"""Measures this library beside MPICH and Open MPI, in one go: the rows of README.md and benchmarks/README.md.

  python3 benchmarks/suite [--quick] [--rows NAME[,NAME...]] [--repeats N] [--out FOLDER] [--build FOLDER]

Each measurement runs as one job of each library in turn, --repeats times, so that all see the same load. A figure is the median
of these runs; a ratio is the median of the ratios of one turn. Writes FOLDER/suite.json and FOLDER/suite.html, one page with
plots that needs no other file. A library that is not installed is named and left out. --list prints the measurements.
"""
import argparse
import datetime
import json
import os
import signal
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import libraries  # noqa: E402
import machine  # noqa: E402
import measurements  # noqa: E402
import page  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    say(f"suite: {text}")
    sys.exit(2)


def parsed(words):
    parse = argparse.ArgumentParser(prog="python3 benchmarks/suite", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--quick", action="store_true", help="seconds in place of an hour: few rows, small jobs; no figures")
    parse.add_argument("--rows", default="", help="names of measurements, separated by commas; * stands for anything")
    parse.add_argument("--list", action="store_true", help="print the names and titles of all measurements")
    parse.add_argument("--repeats", type=int, help="turns (5; quick: 1)")
    parse.add_argument("--out", default="suite-results", help="the folder for the results (suite-results)")
    parse.add_argument("--build", default=os.path.join(ROOT, "build/default"), help="a build folder or an installed prefix")
    parse.add_argument("--realtime", action="store_true", help="messages go before all other work of the machine, which stands "
                                                                "still meanwhile (root)")
    parse.add_argument("--options", default="", help="options for this library's mpiexec, say '-bind-to core'")
    parse.add_argument("--mpich-cc", default="mpicc.mpich")
    parse.add_argument("--mpich-run", default="mpiexec.hydra")
    parse.add_argument("--openmpi-cc", default="mpicc.openmpi")
    parse.add_argument("--openmpi-libs", default="", help="say .../libmpi.so.40, where there is no wrapper")
    parse.add_argument("--openmpi-run", default="mpiexec.openmpi --oversubscribe --allow-run-as-root")
    options = parse.parse_args(words)
    options.build = os.path.abspath(options.build)
    if options.realtime:
        os.environ["PAIR_REALTIME"] = "1"
    if options.repeats is None:
        options.repeats = 1 if options.quick else 5
    if options.repeats < 1:
        parse.error(f"--repeats {options.repeats}: allowed are numbers from 1 on")
    return options


def wanted(options):
    """Returns the measurements that the options choose."""
    patterns = [word for word in options.rows.split(",") if word]
    names = [one.name for one in measurements.all_measurements()]
    for pattern in patterns:
        if not any(measurements.matches(pattern, name) for name in names):
            fail(f"--rows {pattern}: there is no such measurement; allowed are {', '.join(names)}")
    return measurements.chosen(patterns, options.quick)


def run_column(measurement, column, library, folder):
    """Runs one job; returns ({row: Figure}, what went wrong or "")."""
    try:
        program = library.compile(measurement.source, measurement.flags, folder)
    except libraries.Missing as why:
        return {}, str(why)
    if program.endswith(".py"):  # it starts its own jobs
        job = libraries.Job([sys.executable, program, os.path.dirname(os.path.dirname(library.compiler[0])),
                             *measurement.arguments], {}, measurement.seconds)
    else:
        job = library.run(program, measurement.arguments, column.processes, column.ranks, measurement.environment,
                          measurement.seconds)
    if measurement.hangs:
        return (measurement.read(job.text, job.seconds), "") if job.ended else ({}, f"hangs: {job.problem}")
    whole_job = measurement.read is measurements.read_seconds
    try:
        rows = {} if whole_job and job.problem else measurement.read(job.text, job.seconds)
    except (ValueError, IndexError) as why:  # the output of a job that was ended may stop anywhere
        return {}, job.problem or f"printed what cannot be read: {why}"
    if rows or not job.problem:
        return rows, job.problem or ("" if rows else "printed no figure")
    return {}, job.problem


def measure(measurement, options, found, folder):
    """Runs a measurement's jobs in turn; returns what the JSON file has of it."""
    columns = [column for column in measurement.columns if column.library in found]
    runs, problems = [], {}
    for turn in range(options.repeats):
        this = {}
        for column in columns:
            if problems.get(column.label, "").startswith(("did not end", "hangs")):
                continue  # a job that did not end once is not waited for again
            rows, problem = run_column(measurement, column, found[column.library], folder)
            this[column.label] = rows
            if problem:
                problems[column.label] = problem
                say(f"  {column.label}: {problem}")
        runs.append(this)
        say(f"  turn {turn + 1} of {options.repeats}")
    return {"name": measurement.name, "title": measurement.title, "note": measurement.note, "plot": measurement.plot,
            "command": " ".join([os.path.relpath(measurement.source, ROOT), *measurement.arguments]),
            "columns": [{"label": column.label, "library": column.library, "processes": column.processes,
                         "ranks_a_process": column.ranks} for column in columns],
            "problems": problems, "rows": summed_up(columns, runs)}


def summed_up(columns, runs):
    """Returns the rows of all turns: values, medians, and the medians of each turn's ratios."""
    names = []
    for run in runs:
        for column in columns:
            names += [name for name in run.get(column.label, {}) if name not in names]
    rows = []
    for name in names:
        figures = {column.label: [run[column.label][name] for run in runs if name in run.get(column.label, {})]
                   for column in columns}
        some = next(found[0] for found in figures.values() if found)
        row = {"name": name, "unit": some.unit, "better": some.better, "values": {}, "medians": {}, "ratios": []}
        for label, found in figures.items():
            if found:
                row["values"][label] = [figure.value for figure in found]
                row["medians"][label] = statistics.median(row["values"][label])
        row["ratios"] = ratios_of(columns, runs, name)
        rows.append(row)
    return rows


def ratios_of(columns, runs, name):
    """Returns, for each column of this library and each of another, how many times better this one is."""
    found = []
    for mine in columns:
        for other in columns:
            if mine.library != measurements.OURS or other.library == measurements.OURS:
                continue
            turns = []
            for run in runs:
                a, b = run.get(mine.label, {}).get(name), run.get(other.label, {}).get(name)
                if a and b and a.value > 0 and b.value > 0:
                    turns.append(b.value / a.value if a.better == "lower" else a.value / b.value)
            if turns:
                found.append({"of": mine.label, "beside": other.label, "times_better": statistics.median(turns)})
    return found


def write(options, results):
    os.makedirs(options.out, exist_ok=True)
    paths = [os.path.join(options.out, name) for name in ("suite.json", "suite.html")]
    with open(paths[0], "w", encoding="utf-8") as text:
        json.dump(results, text, indent=1)
    with open(paths[1], "w", encoding="utf-8") as text:
        text.write(page.html_of(results))
    return paths


def main(words):
    options = parsed(words)
    if options.list:
        for one in measurements.all_measurements():
            print(f"{one.name:<28}{one.title}")
        return 0
    chosen = wanted(options)
    if not os.path.exists(f"{options.build}/bin/mpiexec"):
        fail(f"--build {options.build}: there is no bin/mpiexec in it; scripts/build makes one")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found, missing = libraries.found(options, folder, say)
        if measurements.OURS not in found:
            fail(f"this library cannot be measured: {missing[measurements.OURS]}")
        about = machine.description()
        results = {"suite": 1, "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
                   "quick": options.quick, "repeats": options.repeats, "machine": about,
                   "commit": machine.commit_of(ROOT),
                   "libraries": [library.describe() for library in found.values()],
                   "left_out": [{"name": measurements.NAMES[name], "why": why} for name, why in missing.items()],
                   "measurements": []}
        for number, one in enumerate(chosen, 1):
            say(f"{number} of {len(chosen)}: {one.title}")
            results["measurements"].append(measure(one, options, found, folder))
            about["load after"] = machine.load()
            results["seconds"] = round(time.monotonic() - begin, 1)
            paths = write(options, results)  # after each, so that an interrupted run leaves what it has
    print("\n".join(paths))
    return 0


def interrupt(_number, _frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)  # ends the job that runs, too
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        fail("interrupted; what was measured before is written")
