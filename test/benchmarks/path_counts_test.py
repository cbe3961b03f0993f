#!/usr/bin/env python3
"""path_counts.py finds a path that has grown, accepts one that has not, and skips counts of other surroundings.

  path_counts_test.py path_counts.py BUILD
"""
import json
import os
import subprocess
import sys
import tempfile

COMMAND, BUILD = sys.argv[1:]
SKIPPED = 77


def run(record, *options, paths=("barrier",)):
    """Runs path_counts.py with these records; returns its status, its output, and the records that it has left."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "record.json")
        with open(file, "w", encoding="utf-8") as text:
            json.dump(record, text)
        ran = subprocess.run([sys.executable, COMMAND, "--file", file, *options, BUILD, *paths], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        with open(file, encoding="utf-8") as text:
            return ran.returncode, ran.stdout, json.load(text)


def expect(condition, what, output):
    if not condition:
        sys.exit(f"path_counts_test: {what}\n{output}")


def scaled(records, factor):
    """Returns the records with the count of barriers times a factor."""
    changed = json.loads(json.dumps(records))
    changed[0]["counts"]["barrier"] *= factor
    return changed


def main():
    status, output, records = run([], "--record")
    if status == SKIPPED:
        print(output)
        return SKIPPED
    expect(status == 0 and records[0]["counts"]["barrier"] > 50, "nothing was recorded", output)
    status, output, _ = run(records)
    expect(status == 0 and "+0.00%" in output, "the same counts are not accepted", output)
    status, output, _ = run(scaled(records, 1 / 1.019))
    expect(status == 0, "a growth below the limit is an error", output)
    status, output, left = run(scaled(records, 1 / 1.021))
    expect(status == 1 and "GREW" in output, "a growth above the limit is no error", output)
    expect(left == scaled(records, 1 / 1.021), "a comparison has changed the record", output)
    status, output, _ = run(scaled(records, 1.1))
    expect(status == 0 and "became smaller" in output, "a path that shrank is not named", output)
    status, output, _ = run([{**records[0], "counts": {}}])
    expect(status == 1 and "not recorded" in output, "a path without a record is accepted", output)
    other = {**records[0], "surroundings": {**records[0]["surroundings"], "compiler": "g++ 1.2.3"}}
    status, output, _ = run([other])
    expect(status == SKIPPED and "g++ 1.2.3" in output, "another compiler's counts are not skipped with the reason", output)
    status, output, left = run([other], "--record")
    expect(status == 0 and len(left) == 2, "the record of another compiler was not kept", output)
    status, output, _ = run(records, paths=("no_such_path",))
    expect(status == 2 and "no_such_path" in output, "an unknown path is no error", output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
