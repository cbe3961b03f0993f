#!/usr/bin/env python3
"""Writes the tracker's wrappers from src/mpi/calls.table.

  generate.py --include DIR --cc CC --calls calls.table --out FOLDER

Two files are written:
  track_calls.h      the list of wrapped functions (numbers, names, kinds) and struct Next, a pointer to each PMPI
                     function that the tracker needs
  track_wrappers.cc  MPI_* and PMPI_* of each wrapped function. The role of the call in the table decides what a wrapper
                     does; a function with unexpected parameters stops the build.
The wrappers of functions of kind `own` are in wrappers_by_hand.cc.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import wrappers  # noqa: E402

# Functions that the tracker itself calls beside those that it wraps.
ALSO = """Comm_rank Comm_size Comm_test_inter Comm_remote_size Comm_group Comm_remote_group Comm_get_parent Group_free
  Group_rank Group_size Group_translate_ranks Group_from_session_pset Type_size_x Get_library_version Query_thread
  Test_cancelled Exscan Gather Gatherv Comm_create_keyval Comm_free_keyval Comm_set_attr""".split()

BY_HAND = "Init Init_thread Finalize Session_init Session_finalize Abort".split()
# OTF2's numbers of collective operations. Those of neighbourhoods are the nearest ones.
OTF2 = {"Barrier": 0, "Bcast": 1, "Gather": 2, "Gatherv": 3, "Scatter": 4, "Scatterv": 5, "Allgather": 6, "Allgatherv": 7,
        "Alltoall": 8, "Alltoallv": 9, "Alltoallw": 10, "Allreduce": 11, "Reduce": 12, "Reduce_scatter": 13, "Scan": 14, "Exscan": 15,
        "Reduce_scatter_block": 16, "Neighbor_allgather": 6, "Neighbor_allgatherv": 7, "Neighbor_alltoall": 8,
        "Neighbor_alltoallv": 9, "Neighbor_alltoallw": 10}
OTF2_CREATES, OTF2_FREES = 17, 18
# The words of a payload (calls.table) in C++, of the recorder's struct CommShape `s`.
PAYLOAD = {r"\bis_root\b": "root == s.rank", r"\breceived_in_place\b": "recvbuf == MPI_IN_PLACE", r"\bin_place\b": "sendbuf == MPI_IN_PLACE",
           r"\bothers\b": "s.others", r"\bsize\b": "s.size", r"\bbytes\(": "bytes_of(",
           r"\bown\((\w+), (\w+)\)": r"s.rank < 0 ? 0 : bytes_of(\1[s.rank], \2)", r"\bsum\(": "bytes_of_all("}


def payload(text):
    for word, code in PAYLOAD.items():
        text = re.sub(word, code, text)
    return text


def watches(call):
    return call.role not in ("query", "local", "life")


class Wrapper:
    def __init__(self, call, function):
        self.call, self.f = call, function
        self.names = [p.name for p in call.parameters]
        self.collective = -1
        self.before, self.after, self.arguments = [], [], {}
        self.kind = self.classify()

    def need(self, *names):
        for name in names:
            if name not in self.names:
                wrappers.fail(f"{self.f.symbol}: no parameter {name} (has {', '.join(self.names)})")

    def classify(self):
        if self.call.name in BY_HAND:
            return "own"
        for rule in (self.point_to_point, self.sendrecv, self.completion, self.collectives, self.communicators):
            kind = rule(self.call.role, self.call.starts)
            if kind:
                return kind
        return "plain"

    def point_to_point(self, role, starts):
        size = "bytes_of(count, datatype)"
        keep = "true" if starts == "persistent" else "false"
        if role in ("send", "partitioned_send"):
            size = f"partitions * {size}" if role == "partitioned_send" else size
            self.need("dest", "tag", "comm", "count", "datatype")
            if starts == "blocking":
                self.after = [f"call.message(EventKind::kSend, comm, dest, tag, {size});"]
            else:
                self.need("request")
                self.after = [f"call.requested(RequestKind::kSend, {keep}, *request, comm, dest, tag, {size});"]
        elif role in ("receive", "partitioned_receive"):
            if starts == "blocking":
                self.need("source", "comm", "status")
                self.status()
                self.after = ["call.received(comm, *told);", "call.advance();"]
            else:
                self.need("tag", "comm", "request")
                source = "dest" if "dest" in self.names else "source"
                self.after = [f"call.requested(RequestKind::kRecv, {keep}, *request, comm, {source}, tag, 0);"]
        elif role == "matched_probe":
            self.need("comm", "message")
            test = "*flag" if "flag" in self.names else "true"
            self.after = [f"if ({test}) call.matched(*message, comm);"]
        elif role == "matched_receive":
            self.need("message")
            self.before = ["const MPI_Comm comm = call.remove_message(*message);"]
            if starts == "blocking":
                self.status()
                self.after = ["call.received(comm, *told);"]
            else:
                self.after = ["call.requested(RequestKind::kRecv, false, *request, comm, 0, 0, 0);"]
        else:
            return None
        return "point2point"

    def status(self):
        self.before += ["MPI_Status own;", "MPI_Status* const told = "
                        "call.recording() && status == MPI_STATUS_IGNORE ? &own : status;"]
        self.after_guard = True
        self.arguments["status"] = "told"

    def sendrecv(self, role, starts):
        if role not in ("send_receive", "replace"):
            return None
        if starts == "blocking":
            self.status()
            size = "bytes_of(sendcount, sendtype)" if role == "send_receive" else "bytes_of(count, datatype)"
            self.need("dest", "sendtag", "comm")
            self.after = [f"call.message(EventKind::kSend, comm, dest, sendtag, {size});",
                          "call.received(comm, *told);"]
        return "point2point"

    def completion(self, role, _):
        base = self.call.operation
        if role == "completion":
            many = base[4:]
            requests = "array_of_requests" if many else "request"
            count = {"": "1", "some": "incount"}.get(many, "count")
            statuses = "array_of_statuses" if many in ("all", "some") else "status"
            self.need(requests, statuses)
            self.before = [f"RequestCompletion completion(&call, {count}, {requests});",
                           f"MPI_Status* const told = completion.statuses({statuses});"]
            self.arguments[statuses] = "told"
            test = "*flag && " if base.startswith("Test") and many != "some" else ""
            any_done = f"if ({test}completion.any())"
            self.after = {
                "": [any_done, "  completion.done(0);"],
                "all": [any_done, "  for (int i = 0; i < count; ++i) completion.done(i, i);"],
                "any": [any_done, "  completion.done(*indx);"],
                "some": ["if (completion.any() && *outcount != MPI_UNDEFINED)",
                         "  for (int i = 0; i < *outcount; ++i) completion.done(array_of_indices[i], i);"],
            }[many]
            self.after.append("call.advance();")
            return "completion"
        if base == "Request_free":
            self.before = ["const RequestDescription before = call.describe_request(*request);"]
            self.after = ["call.request_freed(before);"]
        elif base == "Cancel":
            self.after = ["call.cancelled(*request);"]
        elif base == "Start":
            self.after = ["call.started(*request);"]
        elif base == "Startall":
            self.after = ["for (int i = 0; i < count; ++i) call.started(array_of_requests[i]);"]
        else:
            return None
        return "completion"

    def collectives(self, role, starts):
        if role != "collective":
            return None
        kept, nonblocking = starts == "persistent", starts == "nonblocking"
        if self.call.operation not in OTF2:
            wrappers.fail(f"{self.f.symbol}: OTF2's number of {self.call.operation} is not in src/track/generate.py")
        self.collective = OTF2[self.call.operation]
        root = "root" if "root" in self.names else ""
        self.need("comm")
        sent, received = payload(self.call.sent), payload(self.call.received)
        uses_shape = "s." in sent + received
        lines = ["const CommShape s = call.shape_of(comm);", f"const uint64_t sent = {sent};",
                 f"const uint64_t received = {received};"]
        where = root or "kNoRoot"
        if nonblocking or kept:
            lines.append(f"call.requested(RequestKind::kColl, {'true' if kept else 'false'}, *request, comm, {where}, "
                         "0, sent, received);")
        else:
            lines.append(f"call.collective(s.id, {where}, sent, received);")
        if nonblocking or kept:
            lines.insert(1, "(void)s;") if not uses_shape else None
        guard = "if (call.rank() && call.rank()->recording) {" if kept else "if (call.recording()) {"
        self.after = [guard, *["  " + line for line in lines], "}"]
        if not kept and not nonblocking:
            self.after.append("call.advance();")
        return "collective"

    def communicators(self, role, starts):
        if role == "release":
            self.before = ["const MPI_Comm before = *comm;", "const uint32_t id = call.id_of(before);"]
            self.after = ["call.freed(before, id);"]
            self.collective = OTF2_FREES
            return "collective"
        if role == "name":
            self.after = ["call.named(comm, comm_name);"]
            return "plain"
        made = next((p.name for p in self.call.parameters if p.kind.object == "comm" and p.kind.life == "created"), None)
        if role not in ("creation", "assembly") or not made:
            return None
        if starts == "nonblocking":
            self.after = [f"call.idup_started(comm, {made}, *request);"]
            return "plain"
        parents = [p.name for p in self.call.parameters if p.kind.object == "comm" and p.kind.intent == "in"]
        flags = ", kSameGroup" if self.call.operation in ("Comm_dup", "Comm_dup_with_info") else ""
        parent = parents[0] if parents else "MPI_COMM_NULL"
        self.after = [f"call.created({parent}, *{made}{flags});"]
        self.collective = OTF2_CREATES
        return "collective"

    def text(self):
        symbol = self.f.symbol
        inside = "".join(f", {p.declaration}" for p in self.f.parameters)
        inside = inside[2:]
        names = ", ".join(self.names)
        passed = ", ".join(self.arguments.get(n, n) for n in self.names)
        comma = ", " if inside else ""
        lines = [f"static int track_{symbol}(const void* place{comma}{inside}) {{",
                 f"  TrackedCall call(kCall_{symbol}, place);",
                 *["  " + line for line in self.before],
                 f"  const int result = g_next.{symbol}({passed});",
                 "  call.leave();"]
        if self.after:
            told = "if (result == MPI_SUCCESS && (call.recording())) {" if self.arguments.get("status") and \
                self.kind == "point2point" else "if (result == MPI_SUCCESS) {"
            lines += ["  " + told, *["    " + line for line in self.after], "  }"]
        lines += ["  return result;", "}", *wrappers.exports("track", self.f, symbol, names)]
        return "\n".join(lines)


def main():
    calls = wrappers.Calls("track", watches, BY_HAND)
    made = [Wrapper(call, calls.functions[call.symbol]) for call in calls.watched()]
    roles = {"own": 0, "plain": 0, "point2point": 1, "completion": 2, "collective": 3}
    declarations = ["inline constexpr const char* kCallNames[] = {", *[f'    "{s}",' for s in calls.symbols], "};\n",
                    "/// 0: other, 1: point to point, 2: completion, 3: collective.",
                    "inline constexpr uint8_t kCallRoles[] = {", *[f"    {roles[w.kind]},  // {w.f.symbol}" for w in made],
                    "};\n", "/// OTF2's number of a collective operation, or -1.",
                    "inline constexpr int8_t kCallCollectives[] = {", *[f"    {w.collective},  // {w.f.symbol}" for w in made],
                    "};\n"]
    calls.write("track", ["#include <cstdint>\n"], declarations, ["MPI_" + n for n in ALSO], ['#include "track/wrappers.h"\n'], [],
                lambda call, function: Wrapper(call, function).text())


main()
