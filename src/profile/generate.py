#!/usr/bin/env python3
"""Writes the report's wrappers from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  profile_calls.h      the list of wrapped functions with their names and what a rank does in them, and struct Next, a
                       pointer to each PMPI function that the report needs
  profile_wrappers.cc  MPI_* and PMPI_* of each wrapped function. The names and kinds of the parameters decide what a
                       wrapper counts.
The wrappers of the calls in BY_HAND are in life.cc.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import wrappers  # noqa: E402

BY_HAND = "Init Init_thread Finalize".split()
# What a rank does in the calls of a role: those that the report counts, or in which a rank may spend time.
DOING = {"send": "kMessage", "receive": "kMessage", "send_receive": "kMessage", "replace": "kMessage", "matched_receive": "kMessage",
         "partitioned_send": "kMessage", "partitioned_receive": "kMessage", "start": "kMessage", "buffer": "kMessage",
         "probe": "kCompletion", "matched_probe": "kCompletion", "completion": "kCompletion",
         "collective": "kCollective", "assembly": "kCollective", "creation": "kCollective", "release": "kOther", "service": "kOther",
         "one_sided": "kOneSided", "file": "kFile"}
DOING_CREATION = {"rma": "kOneSided", "file": "kFile"}  # by topic
SENDS = ("send", "send_receive", "replace")
ALSO = """Comm_rank Comm_size Comm_test_inter Comm_get_parent Type_size_x Query_thread Comm_group Group_translate_ranks Group_free""".split()


def watches(call):
    return doing_of(call) is not None or call.name == "Abort"


def doing_of(call):
    """Returns what a rank does in the call, as a constant of enum Doing, or None where the report has no wrapper."""
    if call.role in ("request", "partition"):
        return "kCompletion" if call.find("flag") or call.find("outcount") else "kMessage"
    if call.role == "life":
        return "kCollective" if call.name == "Finalize" else "kOther" if call.name in (*BY_HAND, "Abort") else None
    return DOING_CREATION.get(call.topic, "kCollective") if call.role == "creation" else DOING.get(call.role)


def any_ends(call):
    """Whether the call waits for any of several requests."""
    return call.role == "completion" and any(call.find(n) for n in ("indx", "outcount"))


def receives(call):
    return "true" if call.find("source") else "false"


def elements(call):
    """Returns the names of the count and datatype of the first buffer that has one of each, or None."""
    for p in call.parameters:
        if "buffer" in p.kind.name and len(p.length) == 2:
            count, type_ = (call.find(n) for n in p.length)
            if p.length[0] == "1" and type_:
                return "1", type_.name
            if count and type_ and not count.kind.type.endswith("*") and not type_.kind.type.endswith("*"):
                return count.name, type_.name
    return None


def bytes_of(call):
    return "bytes_of({}, {})".format(*elements(call)) if elements(call) else "0"


def fast(call, before, after):
    """Returns the conditions under which a wrapper can use the fast path (Fast), the statements that follow the call then, and
    the arguments of a message that it sends. Returns None for calls without a fast path."""
    known, then, sent = [f"fast.known(kCall_{call.symbol})"], [], []
    for line in before:
        if line.startswith("scope.receives("):
            known.append(line.rstrip(";").replace("scope", "fast"))
        elif line.startswith("scope.sends(") and elements(call):
            known.append(f"fast.sends(comm, dest, {elements(call)[1]}, {receives(call)})")
            sent = ["dest", *elements(call)]
        elif line.startswith("scope.completes("):
            known.append(line.rstrip(";").replace("scope", "fast"))
        elif not line.startswith(("MPI_Status own;", "status = CallScope::status_for(", "scope.takes_later(")):  # for MPI_ANY_SOURCE
            return None
    for line in after:
        if line.startswith("scope.began("):
            then.append(line.replace("scope", "fast"))
        elif not line.startswith("scope.took("):
            return None
    return known, then, sent


def counts(call):
    """Returns the statements in front of the call, and those that follow a successful call."""
    names = {p.name for p in call.parameters}
    before, after = [], []
    if {"source", "comm"} <= names:
        before.append("scope.receives(comm, source);")
    if call.role in SENDS and call.starts != "persistent":
        before.append(f"scope.sends(comm, dest, {bytes_of(call)}, {receives(call)});")
    if call.role == "send" and call.starts == "persistent":
        after.append(f"scope.keeps(*request, comm, dest, {bytes_of(call)});")
    if {"source", "recvtag" if "recvtag" in names else "tag", "comm", "status"} <= names and "flag" not in names:
        before += ["MPI_Status own;", "status = CallScope::status_for(source, status, &own);"]
        after.append(f"scope.took(comm, source, {'recvtag' if 'recvtag' in names else 'tag'}, status);")
    elif {"source", "comm"} <= names and "flag" not in names:
        before.append("scope.takes_later(source);")
    if call.starts == "persistent" and "dest" in names:
        before.append("scope.names(comm, dest);")
    after += [f"scope.began(*{p.name});" for p in call.parameters if p.kind.name == "new_request"]
    if call.name in ("Wait", "Test"):
        before.append("scope.completes(*request);")
    if call.topic in ("rma", "file") and bytes_of(call) != "0":
        before.append(f"scope.moves({bytes_of(call)});")
    if {"target_rank", "win"} <= names and bytes_of(call) != "0":
        fetches = "true" if re.match(r"R?get(_c)?$", call.name, re.I) else "false"
        before.append(f"scope.reaches(win, target_rank, {bytes_of(call)}, {fetches});")
    if call.topic == "rma" and {"comm", "win"} <= names:
        after.append("scope.made_win(comm, *win);")
    if call.name == "Win_free":
        before.append("scope.frees_win(*win);")
    if call.name == "Start":
        before.append("scope.starts(1, request);")
    if call.name == "Startall":
        before.append("scope.starts(count, array_of_requests);")
    if call.name == "Request_free":
        before.append("scope.forgets(*request);")
    if call.topic == "coll":
        before.append(f"scope.collective(comm, {bytes_of(call)});")
    made = [p.name for p in call.parameters if p.kind.name == "new_comm"]
    if made and "request" not in names:
        of = [p.name for p in call.parameters if p.kind.name == "comm"]
        after.append(f"scope.made({of[0] if of else 'MPI_COMM_NULL'}, *{made[0]});")
    if made and "request" in names:
        before.append(f"scope.copies(comm, {made[0]});")
    if call.name in ("Comm_free", "Comm_disconnect"):
        before.append("scope.frees(*comm);")
    return before, after


def wrapper(call, function):
    symbol = call.symbol
    inside = ", ".join(p.declaration for p in function.parameters)
    comma = ", " if inside else ""
    names = ", ".join(p.name for p in call.parameters)
    before, after = counts(call)
    quick = fast(call, before, after)
    # The site is the last argument, so that the others stay in the registers in which the program has passed them.
    lines = [f"[[gnu::noinline, gnu::cold]] static int any_{symbol}({inside}{comma}const void* place) {{" if quick else
             f"[[gnu::always_inline]] static inline int report_{symbol}(const void* place{comma}{inside}) {{",
             f"  CallScope scope(kCall_{symbol}, place);", *["  " + line for line in before]]
    if after:
        lines += [f"  const int result = g_next.{symbol}({names});", "  if (result == MPI_SUCCESS) {",
                  *["    " + line for line in after], "  }", "  return result;"]
    else:
        lines += [f"  return g_next.{symbol}({names});"]
    lines.append("}")
    if quick:
        known, then, sent = quick
        # FROM stands where its value is needed, so that no register has to hold it.
        lines += [f"[[gnu::always_inline]] static inline int report_{symbol}({inside}) {{", "  Fast fast;",
                  f"  if (!__builtin_expect({' && '.join(known)}, 1))", f"    return any_{symbol}({names}{comma}FROM);",
                  f"  fast.enters(kCall_{symbol}, FROM{', ' + ', '.join(sent) if sent else ''});",
                  f"  const int result = g_next.{symbol}({names});",
                  *([f"  if (result == MPI_SUCCESS) {' '.join(then)}"] if then else []), "  fast.leaves();", "  return result;", "}"]
    return "\n".join(lines + wrappers.exports("report", function, symbol, names, quick is not None))


def main():
    calls = wrappers.Calls("profile", watches, BY_HAND)
    names = [f'    {{"{c.symbol}", Doing::{doing_of(c)}, {receives(c)}, {"true" if any_ends(c) else "false"}}},' for c in calls.watched()]
    declarations = ["struct CallName {", "  const char* name;", "  Doing doing;", "  bool receives;     ///< it names a source",
                    "  bool any_ends_it;  ///< it waits for any of several requests", "};",
                    "inline constexpr CallName kCalls[kCallCount] = {", *names, "};\n"]
    calls.write("report", ['#include "profile/format.h"\n'], declarations, ["MPI_" + name for name in ALSO],
                ['#include "profile/recorder.h"\n'], [], wrapper)


main()
