#!/usr/bin/env python3
"""Writes the wrappers of recorded runs from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  tape_calls.h      the list of wrapped functions, and struct Next, a pointer to each PMPI function
  tape_wrappers.cc  MPI_* and PMPI_* of each wrapped function: it counts the call as an event of the run, and lists what joins
                    receives with sends; where the checker looks at a repeated run, the call goes to its wrapper
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import wrappers  # noqa: E402

PARTNERS = ("dest", "source", "root", "target_rank", "rank")
COUNTS = ("count", "big_count")
TAGS = ("tag", "sendtag")
ROLES = {"send": "kSends", "receive": "kReceives", "send_receive": "kExchanges", "replace": "kExchanges"}
MESSAGES = (*ROLES, "matched_probe", "matched_receive")


def message_handle(expression):
    return f"static_cast<int32_t>({expression})"


def details_before(call, plain, names):
    """Returns the statements that list what a call will do with messages and requests, from its parameters."""
    details = []
    if ROLES.get(call.role) == "kExchanges":
        details.append("{CallDetail::kReceivesToo, 0, comm, source, recvtag}")
    if call.role == "matched_receive":
        details.append(f"{{CallDetail::kMessageReceived, {message_handle('*message')}}}")
    kind = {"start": "kRequestStarted", "completion": "kRequestAwaited"}.get(call.role)
    if call.name == "Cancel":
        kind = "kRequestCancelled"
    if kind and call.find("request"):
        details.append(f"{{CallDetail::{kind}, {message_handle('*request')}}}")
    lines = [f"  if (lists_events()) add_detail({detail});" for detail in details]
    requests, count = call.find("array_of_requests"), next((n for n in ("count", "incount") if n in plain), None)
    if kind and requests and count:
        lines.append(f"  for (int i = 0; lists_events() && i < {count}; ++i)")
        lines.append(f"    add_detail({{CallDetail::{kind}, {message_handle('array_of_requests[i]')}}});")
    return lines


def details_behind(call):
    """Returns the statements that list what a call has made."""
    if call.role == "matched_probe":
        found = " && *flag" if call.find("flag") else ""
        return [f"  if (lists_events() && code == MPI_SUCCESS{found})",
                f"    add_detail({{CallDetail::kMessageTaken, {message_handle('*message')}, comm, seen->MPI_SOURCE, seen->MPI_TAG}});"]
    receives = call.role in MESSAGES and call.role != "send"
    if call.find("request") and call.role in MESSAGES and (call.starts == "persistent" or receives):
        return ["  if (lists_events() && code == MPI_SUCCESS)",
                f"    add_detail({{CallDetail::kRequestMade, {message_handle('*request')}}});"]
    return []


# Calls for which the checker has no wrapper.
NOT_CHECKED = ("MPI_Abort",)


def watches(call):
    return call.role != "query"


def wrapper(call, function):
    symbol = call.symbol
    inside, names = wrappers.parameters_of(function)
    plain = {p.name: p for p in call.parameters if not p.kind.type.endswith("*")}
    partner = next((name for name in PARTNERS if name in plain), "kNoPartner")
    count = next((f"static_cast<int64_t>({p.name})" for p in call.parameters if p.kind.name in COUNTS), "0")
    comm, tag = "comm" if "comm" in plain else "0", next((name for name in TAGS if name in plain), "kNoTag")
    role, persistent = ROLES.get(call.role, "kNone"), "true" if call.starts == "persistent" else "false"
    comma = ", " if inside else ""
    lines = [f"static int (*checked_{symbol})(const void* place{comma}{inside}) = nullptr;",
             f"static int tape_{symbol}(const void* place{', ' if inside else ''}{inside}) {{",
             f'  record_call({{"{symbol}", kCall_{symbol}, {partner}, {count}, place, {comm}, {tag}, MessageRole::{role}, {persistent}}});',
             f"  if (checked_{symbol}) [[unlikely]] return checked_{symbol}(place{', ' if names else ''}{names});",
             *details_before(call, plain, names)]
    behind = details_behind(call)
    if call.role == "matched_probe":
        lines += ["  MPI_Status own;", "  MPI_Status* const seen = status == MPI_STATUS_IGNORE ? &own : status;"]
    passed = names.replace("status", "seen") if call.role == "matched_probe" else names
    lines += [f"  const int code = g_next.{symbol}({passed});", *behind, "  return code;"] if behind else [f"  return g_next.{symbol}({names});"]
    lines.append("}")
    return "\n".join(lines + wrappers.exports("tape", function, symbol, names))


def main():
    calls = wrappers.Calls("tape", watches, [])
    # A search in vain would take memory of the program's heap.
    checked = [s for s in calls.symbols if s not in NOT_CHECKED]
    fill = ["void fill_checked(void* (*find)(const char* name)) {",
            *[f'  checked_{s} = reinterpret_cast<decltype(checked_{s})>(find("fgmpi_check_{s}"));' for s in checked], "}\n"]
    calls.write("rewind", [], [], [], ['#include "tape/tape.h"\n'], [], wrapper, fill)


main()
