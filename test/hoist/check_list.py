#!/usr/bin/env python3
"""Compares what -fgmpi-hoist=verbose has said about a source file with the comments behind its calls.

    check_list.py SOURCE REPORT      the report is the compiler's standard error

A comment `hoist: must`, `may` or `never` stands in a line of the call, at most two lines behind the one in which it begins.
"""
import re
import sys


def said_about(report, source):
    said = {}
    name = source.split("/")[-1]
    for line in open(report):
        match = re.match(r"(.*?):(\d+):\d+: (optimized|missed): (.*)", line)
        if match and match[1].split("/")[-1] == name:
            said.setdefault(int(match[2]), []).append((match[3] == "optimized", match[4]))
    return said


def main():
    source, report = sys.argv[1:]
    said = said_about(report, source)
    wrong = []
    lists = {}
    for number, line in enumerate(open(source), 1):
        listed = re.search(r"hoist: (must|may|never)\b", line)
        if not listed:
            continue
        begins = next((n for n in (number, number - 1, number - 2) if n in said and n not in lists), None)
        if begins:
            lists[begins] = listed[1]
        elif listed[1] == "must":
            wrong.append((number, "must", "nothing was said about it"))
    for number in said:
        listed = lists.get(number, "not listed")
        for hoisted, text in said[number]:
            if listed == "not listed" or (listed == "never" and hoisted) or (listed == "must" and not hoisted):
                wrong.append((number, listed, text))
    for number, listed, text in wrong:
        print(f"{source}:{number}: {listed}: {text}")
    sites = len(lists)
    print(f"{source}: {sites} sites")
    return 1 if wrong or not sites else 0


sys.exit(main())
