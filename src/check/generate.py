#!/usr/bin/env python3
"""Writes the checker's wrappers from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  check_calls.h      the list of wrapped functions with the table's facts about their parameters, and struct Next, a
                     pointer to each PMPI function
  check_wrappers.cc  MPI_* and PMPI_* of each wrapped function. A wrapper converts the arguments to 64-bit words, and
                     calls CheckedCall's constructor, MPI's own function and CheckedCall::after.
The wrappers of the calls in BY_HAND are in life.cc.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import wrappers  # noqa: E402

BY_HAND = "Init Init_thread Finalize".split()

# The functions that are called in place of standard sends where FGMPI_SEND_BUFFERING=zero.
UNBUFFERED = {"MPI_Send": "MPI_Ssend", "MPI_Isend": "MPI_Issend", "MPI_Send_init": "MPI_Ssend_init"}


# Roles that are roles of the checker, too (enum CallRole); calls of all others are kOther.
ROLES = """send receive send_receive replace probe matched_probe matched_receive start completion partitioned_send partitioned_receive
  partition collective creation""".split()


def constant(word):
    """Returns the name of a constant: kSendReceive, of send_receive."""
    return "k" + word.title().replace("_", "")


def watches(call):
    return call.role not in ("query", "life") and len(call.parameters) <= 14


def role_of(call):
    """Returns the role of a call, as a constant of enum CallRole."""
    return constant(call.role) if call.role in ROLES else "kOther"


FOLLOWED = "kComm kGroup kDatatype kOp kInfo kErrhandler kKeyval kWin kFile kMessage".split()
# The parameter of each field of struct Positions: the first of these names that a call has.
POSITIONS = {"target": "target_rank", "comm": "comm", "root": "root", "op": "op", "dest": "dest", "source": "source", "send_tag": "sendtag tag",
             "recv_tag": "recvtag tag", "send_buffer": "sendbuf buf buffer", "send_count": "sendcount count",
             "send_type": "sendtype datatype", "recv_buffer": "recvbuf buf buffer", "recv_count": "recvcount count",
             "recv_type": "recvtype datatype"}
RESULTS = {"flag": "flag", "index": "indx", "out_count": "outcount", "indices": "array_of_indices", "message": "message"}


def collective_of(call):
    """Returns the collective of a call, as a constant of enum Collective."""
    if call.role != "collective":
        return "kNone"
    return "kNeighbor" if call.operation.startswith("Neighbor") else constant(call.operation)


def positions(call):
    """Returns the initialiser of the call's Positions."""
    names = [name_of(call, p) for p in call.parameters]

    def first(wanted):
        return next((names.index(name) for name in wanted.split() if name in names), -1)

    def request(*lives):
        return next((i for life in lives for i, p in enumerate(call.parameters)
                     if p.kind.object == "request" and p.kind.life == life), -1)

    comm = next((i for i, p in enumerate(call.parameters) if p.kind.object == "comm" and not p.kind.type.endswith("*")), -1)
    found = [comm if name == "comm" else first(wanted) for name, wanted in POSITIONS.items()]
    found += [request("completed", "started", "freed", "changed"), request("created")]
    found += [first(wanted) for wanted in RESULTS.values()]
    return "{" + ", ".join(map(str, found)) + "}"


def sets(call):
    """Returns the initialiser of the call's ParameterSets."""
    def those(holds):
        return sum(1 << i for i, p in enumerate(call.parameters) if holds(p))

    def followed(p):
        return object_of(p.kind) in FOLLOWED

    array = {p.name for p in call.parameters if p.kind.abi == "handles"}
    made = ("created", "freed", "changed")
    found = [those(lambda p: followed(p) and p.name not in array and p.kind.life != "created"),
             those(lambda p: followed(p) and p.kind.life in made),
             those(lambda p: p.kind.name in ("buffer", "out_buffer", "inout_buffer")),
             those(lambda p: is_result(p) and p.kind.name not in ("out_buffer", "inout_buffer", "out_status", "out_statuses")),
             those(lambda p: not p.kind.type.endswith("*") and p.kind.object != "comm" and p.kind.object != "info")]
    arrays = any(p.name in array or p.kind.name in ("counts", "displs") for p in call.parameters)
    # The requests of a completion are checked in each call, so they may be in arrays.
    found.append("false" if found[1] or (arrays and role_of(call) != "kCompletion") else "true")
    return "{" + ", ".join(map(str, found)) + "}"


def is_result(parameter):
    kind = parameter.kind
    return kind.intent != "in" and kind.type.endswith("*") and not parameter.sentinels and "weights" not in parameter.name


def name_of(call, parameter):
    """Returns the name of a parameter. In mpi.h the source of a partitioned receive has the name "dest"."""
    return "source" if call.symbol.startswith("MPI_Precv_init") and parameter.name == "dest" else parameter.name


def length_of(call, parameter, index):
    """Returns the position of the parameter that holds length number `index` of a parameter, or -1."""
    if len(parameter.length) <= index:
        return -1
    names = [p.name for p in call.parameters]
    if parameter.length[index] == "partitions*count":  # of each partition
        return names.index("count")
    return names.index(parameter.length[index]) if parameter.length[index] in names else -1


def object_of(kind):
    """Returns the object behind a handle, as a constant of enum Object. Fortran's "handle or number" is kNone: the checker does
    not track it."""
    name = kind.object.replace("_", "")
    return "k" + name.capitalize() if name.isalpha() else "kNone"


def describe(call):
    """Returns the initialiser of the call's CallInfo."""
    rows = []
    for p in call.parameters:
        life = "k" + p.kind.life.capitalize() if object_of(p.kind) != "kNone" else "kNothing"
        object_ = object_of(p.kind)
        kind = p.kind.name
        what = {"buffer": "kRead", "out_buffer": "kWritten", "inout_buffer": "kBoth"}.get(kind, "kPlain")
        for word, kinds in {"kCount": ("count", "big_count"), "kCounts": ("counts",), "kRank": ("rank",), "kRoot": ("root",),
                            "kTag": ("tag",), "kStatus": ("out_status",), "kStatuses": ("out_statuses",),
                            "kDispls": ("displs",), "kNumber": ("int", "number", "color", "aint", "displ", "offset"),
                            "kText": ("string",)}.items():
            if kind in kinds:
                what = word
        array = "true" if p.kind.abi == "handles" else "false"
        pointer = "true" if p.kind.type.endswith("*") else "false"
        rows.append(f'{{"{name_of(call, p)}", ParameterUse::{what}, Object::{object_}, Life::{life}, {length_of(call, p, 0)}, '
                    f'{length_of(call, p, 1)}, {array}, {pointer}}}')
    large = "true" if call.large else "false"
    synchronous = str(call.operation == "Ssend").lower()
    hides = "unordered" in call.flags or any(p.kind.object == "win" for p in call.parameters)
    has_file = any(p.kind.object == "file" for p in call.parameters)
    switches = "true" if "switches" in call.flags else "false"
    return (f'{{"{call.symbol}", "{call.operation}", CallRole::{role_of(call)}, Starts::{constant(call.starts)}, Collective::{collective_of(call)}, {large}, {switches}, {synchronous}, {str(hides).lower()}, {str(has_file).lower()}, {len(rows)}, {positions(call)}, {sets(call)}, {{'
            + ", ".join(rows) + "}}")


def repeated(call):
    """Returns the classes that try, in this order, to handle a call that the rank has made before. Persistent collectives have
    none."""
    for name, base in {"RepeatedMessage<true, false>": "Send", "RepeatedMessage<false, true>": "Recv",
                       "RepeatedMessage<true, true>": "Sendrecv", "RepeatedStart<true>": "Isend", "RepeatedStart<false>": "Irecv",
                       "RepeatedWait": "Wait|Waitall"}.items():
        if re.fullmatch(f"MPI_({base})(_c)?", call.symbol):
            return [name, "CollectiveWait"] if call.symbol == "MPI_Wait" else [name]
    if call.role == "collective" and call.starts != "persistent" and call.find("comm") is not None:
        return ["RepeatedCall"]
    return []


# What the compiler says where a class for repeated calls lacks a rule that depends on state (rules.h).
NOT_RUN = '"a rule of this call depends on state, and kRuns of the class lacks it (check/rules.def)"'


def made(object_, called):
    """Returns the lines that call MPI's own function. An error handler of the program may throw an exception out of MPI."""
    return ["  int code;", f"  try {{ code = {called}; }} catch (...) {{ {object_}.after(kThrown); throw; }}",
            f"  {object_}.after(code);", "  return code;"]


def wrapper(call, function):
    symbol = call.symbol
    inside = ", ".join(p.declaration for p in function.parameters)
    comma = ", " if inside else ""
    names = ", ".join(p.name for p in call.parameters)
    words = ", ".join(f"word({p.name})" for p in call.parameters)
    again = repeated(call)
    # The general case is a function of its own, so that a repeated call needs no stack for a CheckedCall.
    first = "[[gnu::noinline]] static int any" if again else "static int check"
    lines = [f"{first}_{symbol}(const void* place{comma}{inside}) {{",
             f"  int64_t words[] = {{{words or '0'}}};",
             f"  CheckedCall call(kCall_{symbol}, place, words);"]
    for p in call.parameters:
        if p.kind.name == "out_status":
            lines.append(f"  {p.name} = call.status({p.name});")
        if p.kind.name == "out_statuses":
            lines.append(f"  {p.name} = call.statuses({p.name}, {p.length[0]});")
        if p.kind.name == "request":
            lines.append(f"  {p.name} = call.real({p.name});")
        if p.kind.name == "requests":
            lines += [f"  std::vector<MPI_Request> real = call.real({p.name}, {p.length[0]});", f"  {p.name} = real.data();"]
    called = f"g_next.{symbol}({names})"
    unbuffered = UNBUFFERED.get(symbol.removesuffix("_c"))
    if unbuffered:
        suffix = "_c" if call.large else ""
        called = f"g_process.unbuffered ? g_next.{unbuffered}{suffix}({names}) : {called}"
    lines += [*made("call", called), "}"]
    # For the library that counts the calls of recorded runs, which is in front of this one (src/tape).
    rewound = [f"EXPORT int fgmpi_check_{symbol}(const void* place{comma}{inside}) {{",
               f"  return {'any' if again else 'check'}_{symbol}(place{', ' if names else ''}{names});", "}"]
    if not again:
        return "\n".join([*lines, *rewound, *wrappers.exports("check", function, symbol, names)])
    # Arguments are read from the record, so that the compiler need not save them across begin().
    known = ", ".join(f"argument<decltype({p.name})>(same->words[{i}])" for i, p in enumerate(call.parameters))
    otherwise = f"any_{symbol}(same->returned_to(), {known})"
    for i, class_ in reversed(list(enumerate(again))):
        passed = known
        if class_.startswith("RepeatedMessage") and call.find("status"):
            passed = re.sub(r"(argument<decltype\(status\)>\(same->words\[\d+\]\))", r"again.status(\1)", known)
        body = [f"  static_assert(runs_all_rules<{class_}>(kCalls[kCall_{symbol}]), {NOT_RUN});", f"  {class_} again(same);", f"  if (!again.begin()) return {otherwise};",
                *made("again", f"g_next.{symbol}({passed})"), "}"]
        if i:
            lines += [f"[[gnu::noinline]] static int or{i}_{symbol}(RememberedCall* same{comma}{inside}) {{", *body]
            otherwise = f"or{i}_{symbol}(same, {known})"
    # The look-up is a function of its own, so that a call that repeated_call() predicted needs no array of words in memory.
    lines += [f"[[gnu::noinline]] static RememberedCall* known_{symbol}(const void* place{comma}{inside}) {{",
              f"  const int64_t words[] = {{{words}}};",
              f"  return remembered_call(kCall_{symbol}, place, words, std::size(words));", "}"]
    lines += [f"EXPORT {function.signature(symbol)} {{", f"  const int64_t words[] = {{{words}}};",
              f"  RememberedCall* same = repeated_call(kCall_{symbol}, FROM, words);",
              f"  if (!same) [[unlikely]] same = known_{symbol}(FROM, {names});",
              f"  if (!same) [[unlikely]] return any_{symbol}(FROM, {names});", *body, f"EXPORT {function.signature('P' + symbol)} {{",
              f"  return from_fortran(FROM) ? any_{symbol}(FROM, {names}) : g_next.{symbol}({names});", "}", *rewound, ""]
    return "\n".join(lines)


def main():
    calls = wrappers.Calls("check", watches, BY_HAND)
    also = [s for s in calls.all if calls.can_watch(s) and not s.startswith("MPI_T_")]
    objects = sorted({object_of(k) for k in calls.kinds.values()} - {"kNone"})
    declarations = ["enum class Object : uint8_t { kNone, " + ", ".join(objects) + " };\n",
                    "struct Parameter {", "  const char* name;", "  ParameterUse what;", "  Object object;", "  Life life;",
                    "  int8_t length, second;  ///< positions of what says its length (of a buffer: count and datatype), or -1",
                    "  bool array, pointer;", "};",
                    "struct CallInfo {", "  const char* name;", "  const char* operation;  ///< without I and _init", "  CallRole role;",
                    "  Starts starts;", "  Collective collective;", "  bool large, switches;",
                    "  bool synchronous;  ///< a send that is complete when its receive has begun",
                    "  bool hides_order;  ///< puts ranks in an order that is not followed", "  bool has_file;", "  uint8_t count;",
                    "  Positions at;", "  ParameterSets sets;", "  Parameter parameters[kMostArguments];", "};",
                    "extern const CallInfo kCalls[kCallCount];\n"]
    includes = """#include "check/call.h"
#include "check/repeated/repeated_collectives.h"
#include "check/repeated/repeated_messages.h"
#include "watch/places.h"

using fgmpi::findings::from_fortran;
"""
    opening = ["constexpr CallInfo kCalls[kCallCount] = {", *[f"    {describe(call)}," for call in calls.watched()], "};\n",
               "constexpr std::array<RuleSet, kCallCount> kRulesOf = [] {", "  std::array<RuleSet, kCallCount> all = {};",
               "  for (size_t i = 0; i < all.size(); ++i) all[i] = rules_of(kCalls[i]);", "  return all;", "}();\n"]
    calls.write("check", ['#include "check/call_info.h"\n'], declarations, also, [includes], opening, wrapper)


main()
