#!/usr/bin/env python3
"""Writes the wrappers of predictions from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  meter_calls.h      the list of wrapped functions, and struct Next, a pointer to each PMPI function
  meter_wrappers.cc  MPI_* and PMPI_* of each wrapped function: the clock of the calling rank stops in it, and calls that wait for
                     requests say for which
The wrappers of the calls in BY_HAND are in life.cc.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import wrappers  # noqa: E402

BY_HAND = "Init Init_thread Finalize".split()
GROUPS = {"send": "kMessage", "receive": "kMessage", "send_receive": "kMessage", "replace": "kMessage", "matched_receive": "kMessage",
          "partitioned_send": "kMessage", "partitioned_receive": "kMessage", "start": "kMessage", "buffer": "kMessage",
          "partition": "kMessage", "probe": "kCompletion", "matched_probe": "kCompletion", "completion": "kCompletion",
          "collective": "kCollective", "assembly": "kCollective", "creation": "kCollective", "release": "kCollective",
          "one_sided": "kOneSided", "file": "kFile"}


def watches(call):
    return call.role not in ("query", "local", "life", "pack", "name")


# Calls after which the accesses of the rank are complete at their targets: they wait for them first.
COMPLETING = ("Win_fence", "Win_flush", "Win_flush_all", "Win_flush_local", "Win_flush_local_all", "Win_unlock", "Win_unlock_all",
              "Win_complete", "Win_free", "File_sync", "File_close")
MAKING_WINDOWS = ("Win_create", "Win_create_dynamic", "Win_allocate", "Win_allocate_shared")


def file_access(call, function, nonblocking):
    """The line that says how many bytes of a file are read or written: in front of a blocking call, and behind a nonblocking one."""
    names = [p.name for p in function.parameters]
    if call.role != "file" or "datatype" not in names or "count" not in names or nonblocking != ("request" in names):
        return []
    if nonblocking:
        return ["  if (code == MPI_SUCCESS) g_hooks->access_file(bytes_of(count, datatype), request);"]
    return ["  g_hooks->access_file(bytes_of(count, datatype), nullptr);"]


def wrapper(call, function):
    symbol = call.symbol
    inside, names = wrappers.parameters_of(function)
    lines = [f"static int meter_{symbol}(const void* from{', ' if inside else ''}{inside}) {{",
             f"  if (!g_hooks) return g_next.{symbol}({names});", f"  enter(CallGroup::{GROUPS.get(call.role, 'kOther')}, from);"]
    waits_for = {"Wait": "1, request", "Waitall": "count, array_of_requests"}.get(call.name)
    if waits_for:
        lines.append(f"  RequestsWait wait({waits_for});")
    if call.name in COMPLETING:
        lines.append("  g_hooks->await_accesses();")
    if call.name in MAKING_WINDOWS:
        lines.append("  g_hooks->begin_windows();")
    lines += file_access(call, function, False)
    lines.append(f"  const int code = g_next.{symbol}({names});")
    lines += file_access(call, function, True)
    if call.name == "File_open":
        lines.append("  if (code == MPI_SUCCESS) g_hooks->open_file();")
    if waits_for:
        lines.append("  wait.end();")
    leaves = "g_hooks->leave();"
    posted = [p.name for p in call.parameters if p.kind.name == "new_request"]
    if posted and call.role in ("receive", "matched_receive") and call.starts == "nonblocking":
        leaves = f"code == MPI_SUCCESS ? g_hooks->leave_receive(*{posted[0]}) : g_hooks->leave();"
    if call.name == "Start":
        lines.append("  if (code == MPI_SUCCESS) g_hooks->record_posted(*request);")
    if call.name == "Startall":
        lines.append("  for (int i = 0; code == MPI_SUCCESS && i < count; ++i) g_hooks->record_posted(array_of_requests[i]);")
    lines += [f"  {leaves}", "  return code;", "}"]
    return "\n".join(lines + wrappers.exports("meter", function, symbol, names, tools=True))


def main():
    calls = wrappers.Calls("meter", watches, BY_HAND)
    calls.write("predict", [], [], ["MPI_Type_size_x"], ['#include "meter/meter.h"\n'], [], wrapper)


main()
