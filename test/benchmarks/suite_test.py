#!/usr/bin/env python3
"""The suite in a quick run: what it writes is whole, ratios are right, missing libraries are named, errors are clear.

  suite_test.py SUITE BUILD
"""
import html.parser
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

SUITE, BUILD = sys.argv[1:]
sys.dont_write_bytecode = True
VOID = {"meta", "br"}


class Page(html.parser.HTMLParser):
    """Counts elements, and fails where one is not closed or another file is loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.counts = [], {}

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        expect(tag not in ("script", "img", "link") and "src" not in dict(attributes), f"the page loads something: {tag}")
        expect(not dict(attributes).get("href", "#").startswith("http"), "the page has a link to elsewhere")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop() == tag, f"</{tag}> closes nothing")


def expect(condition, what, output=""):
    if not condition:
        sys.exit(f"suite_test: {what}\n{output}")


def run(*options, folder):
    return subprocess.run([sys.executable, SUITE, "--build", BUILD, "--out", folder, *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def results_of(folder):
    with open(os.path.join(folder, "suite.json"), encoding="utf-8") as text:
        results = json.load(text)
    page = Page()
    with open(os.path.join(folder, "suite.html"), encoding="utf-8") as text:
        page.feed(text.read())
    expect(not page.open, f"elements are not closed: {page.open}")
    return results, page.counts


def check_whole_quick_run(folder):
    ran = run("--quick", folder=folder)
    expect(ran.returncode == 0, "a quick run failed", ran.stdout)
    results, counts = results_of(folder)
    expect(results["quick"] and results["machine"]["processor"] and results["libraries"][0]["version"], "what ran is not described")
    names = [one["name"] for one in results["measurements"]]
    expect(len(names) > 10 and len(set(names)) == len(names), f"measurements are missing: {names}")
    for one in results["measurements"]:
        ours = [column["label"] for column in one["columns"] if column["library"] == "fgmpi"]
        expect(ours and one["rows"], f"{one['name']} has no rows", ran.stdout)
        for label in ours:
            expect(label not in one["problems"], f"{one['name']}: {label}: {one['problems'].get(label)}")
            expect(any(row["medians"].get(label) is not None for row in one["rows"]), f"{one['name']}: no figure of {label}")
    expect(counts["table"] >= len(names) + 2, "tables are missing")
    others = {library["name"] for library in results["libraries"][1:]} | {one["name"] for one in results["left_out"]}
    expect(others == {"MPICH", "Open MPI"}, f"libraries are neither used nor named: {others}")


def check_choice(folder):
    """Rows by name, turns, and another library that is not there."""
    ran = run("--quick", "--rows", "scale_2,collectives_2*", "--repeats", "3", "--openmpi-cc", "no-such-compiler",
              "--mpich-cc", "no-such-compiler-either", folder=folder)
    expect(ran.returncode == 0, "a run without other libraries failed", ran.stdout)
    results, _ = results_of(folder)
    expect([one["name"] for one in results["measurements"]] == ["scale_2", "collectives_2"], "other rows than chosen", ran.stdout)
    expect([one["name"] for one in results["left_out"]] == ["MPICH", "Open MPI"], "missing libraries are not named")
    expect("no-such-compiler" in ran.stdout, "the output does not say which compiler is missing", ran.stdout)
    row = next(row for row in results["measurements"][0]["rows"] if row["name"] == "barrier")
    (values,) = row["values"].values()
    (median,) = row["medians"].values()
    expect(len(values) == 3 and sorted(values)[1] == median, f"{median} is not the median of {values}")


def check_errors(folder):
    for options, words in ((["--rows", "no_such_row"], "no_such_row"), (["--repeats", "0"], "--repeats 0"),
                           (["--build", "/nowhere"], "/nowhere")):
        ran = run(*options, folder=os.path.join(folder, "errors"))
        expect(ran.returncode == 2 and words in ran.stdout and "Traceback" not in ran.stdout, f"{options}: no clear error", ran.stdout)
    expect(not os.path.exists(os.path.join(folder, "errors")), "a wrong command has written something")
    ran = run("--help", folder=folder)
    expect(ran.returncode == 0 and "--rows" in ran.stdout, "--help says nothing", ran.stdout)


def check_ratios():
    sys.path.insert(0, SUITE)
    measurements = importlib.import_module("measurements")
    spec = importlib.util.spec_from_file_location("suite_main", os.path.join(SUITE, "__main__.py"))
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    mine, other = measurements.Column("fgmpi", 2), measurements.Column("mpich", 2)
    figure = measurements.Figure
    runs = [{mine.label: {"time": figure(a), "rate": figure(a, "GB/s", "higher")},
             other.label: {"time": figure(b), "rate": figure(b, "GB/s", "higher")}} for a, b in ((1, 2), (2, 12), (4, 12))]
    rows = suite.summed_up([mine, other], runs)
    times = {row["name"]: row["ratios"][0]["times_better"] for row in rows}
    expect(times == {"time": 3, "rate": 1 / 3}, f"ratios of turns are wrong: {times}")
    expect(rows[0]["medians"] == {mine.label: 2, other.label: 12}, "medians are wrong")


def main():
    check_ratios()
    with tempfile.TemporaryDirectory() as folder:
        check_errors(folder)
        check_choice(folder)
        check_whole_quick_run(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
