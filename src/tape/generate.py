#!/usr/bin/env python3
"""Writes the wrappers of recorded runs from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  tape_calls.h      the list of wrapped functions, and struct Next, a pointer to each PMPI function
  tape_wrappers.cc  MPI_* and PMPI_* of each wrapped function: it counts the call as an event of the run
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import wrappers  # noqa: E402

PARTNERS = ("dest", "source", "root", "target_rank", "rank")
COUNTS = ("count", "big_count")


def watches(call):
    return call.role != "query"


def wrapper(call, function):
    symbol = call.symbol
    inside, names = wrappers.parameters_of(function)
    plain = {p.name: p for p in call.parameters if not p.kind.type.endswith("*")}
    partner = next((name for name in PARTNERS if name in plain), "kNoPartner")
    count = next((f"static_cast<int64_t>({p.name})" for p in call.parameters if p.kind.name in COUNTS), "0")
    lines = [f"static int tape_{symbol}(const void* place{', ' if inside else ''}{inside}) {{",
             f'  record_call({{"{symbol}", kCall_{symbol}, {partner}, {count}, place}});', f"  return g_next.{symbol}({names});", "}"]
    return "\n".join(lines + wrappers.exports("tape", function, symbol, names))


def main():
    calls = wrappers.Calls("tape", watches, [])
    calls.write("rewind", [], [], [], ['#include "tape/tape.h"\n'], [], wrapper)


main()
