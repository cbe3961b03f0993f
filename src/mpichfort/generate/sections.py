"""What the code of array sections (src/fortran) has to know of a call: its buffers, and how much of these it uses."""

import re

BUFFERS = ("buffer", "out_buffer", "inout_buffer", "bytes", "out_bytes", "memory")
# Calls that use only the address of their buffer.
ADDRESSES = ("MPI_Free_mem", "MPI_Address")
# Collectives whose buffers have a block for each rank, by plain name: buffer -> BlockCount.
BLOCKS = {
    "Gather": {"recvbuf": "Peers"}, "Scatter": {"sendbuf": "Peers"}, "Allgather": {"recvbuf": "Peers"},
    "Alltoall": {"sendbuf": "Peers", "recvbuf": "Peers"}, "Reduce_scatter_block": {"sendbuf": "Members"},
    "Neighbor_allgather": {"recvbuf": "Sources"},
    "Neighbor_alltoall": {"sendbuf": "Destinations", "recvbuf": "Sources"},
}
LENGTHS = {"@size": "Peers", "@in": "Sources", "@out": "Destinations"}


def plain_name(call):
    """Returns the name of the blocking call: Ialltoall, Alltoall_init -> Alltoall."""
    name = re.sub(r"_init$", "", call.name)
    return name[1:].capitalize() if call.topic == "coll" and call.find("request") and name == call.name else name


def place(call, name):
    return next((str(i) for i, p in enumerate(call.parameters) if p.name == name), "kAbsent")


def kind_place(call, *kinds):
    return next((str(i) for i, p in enumerate(call.parameters) if p.kind.name in kinds), "kAbsent")


def wide(call, name):
    """Returns whether the argument is a number, or an array of numbers, of 64 bits."""
    p = call.find(name)
    return bool(p) and (p.kind.large if call.large else p.kind.type).rstrip("*") != "int"


def users(call, parameter):
    """Returns the ranks that use this buffer of a rooted collective (Users)."""
    if not call.find("root") or parameter.name not in ("sendbuf", "recvbuf"):
        return "All"
    at_root = "sendbuf" if "catter" in call.name else "recvbuf"
    return "Root" if parameter.name == at_root else "NotRoot"


def buffer_argument(call, p):
    count, type_ = (p.length + ["", ""])[:2]
    amount, parts, displs = "Elements", "One", ""
    name = plain_name(call)
    if p.kind.name == "memory":
        amount, count, type_ = "Memory", "size", ""
    elif p.kind.name in ("bytes", "out_bytes"):
        amount = "Bytes" if p.length else "Address"
    elif count == "1":
        amount, count = "OneElement", ""
    elif count == "partitions*count":
        amount, count = "Partitions", "count"
    elif call.find(count).kind.name == "counts":
        parts = LENGTHS[call.find(count).length[0]]
        if name == "Reduce_scatter":
            amount, parts = ("Sum" if p.name == "sendbuf" else "OwnPart"), "Members"
        else:
            displs = next(d for d in (p.name[0] + "displs", "displs") if call.find(d))
            amount = "TypedList" if call.find(type_).kind.name == "types" else "List"
    elif call.topic == "coll":
        if name == "Reduce_scatter_block" and p.name == "recvbuf":
            amount, parts = "OwnPart", "Members"
        else:
            parts = BLOCKS.get(name, {}).get(p.name, "One")
            amount = "Elements" if parts == "One" else "Blocks"
    written = p.kind.intent != "in" or p.kind.name == "memory"
    flags = [written, wide(call, count), wide(call, displs)]
    cells = [f'"{p.name}"', place(call, p.name), place(call, count), place(call, type_), place(call, displs),
             f"BufferAmount::k{amount}", f"BlockCount::k{parts}", f"Users::k{users(call, p)}",
             *("true" if f else "false" for f in flags)]
    return "{" + ", ".join(cells) + "}"


def is_staged(call):
    """Returns whether sections are staged: one datatype cannot describe several blocks, or two buffers with one count."""
    if call.topic == "coll":
        return plain_name(call) != "Bcast"
    return call.name in ("Reduce_local", "Pack", "Unpack", "Pack_external", "Unpack_external")


def row(call):
    """Returns the initialiser of a Procedure, or None where the call uses no more of its buffers than their addresses."""
    buffers = [p for p in call.parameters if p.kind.name in BUFFERS]
    if not buffers or call.symbol in ADDRESSES:
        return None
    strings = sum(p.kind.name == "string" for p in call.parameters)
    answers = next((a for k, a in (("comm", "Communicator"), ("win", "Window"), ("file", "File")) if any(
        p.kind.name == k for p in call.parameters)), "Communicator")
    persistent = call.topic == "coll" and call.name.endswith("_init")
    cells = [f'"{call.symbol}"', str(len(call.parameters) + 1 + strings), str(len(call.parameters)),
             kind_place(call, "comm", "win", "file"), kind_place(call, "root"), place(call, "partitions"),
             kind_place(call, "new_request"), f"Answers::k{answers}", "true" if is_staged(call) else "false",
             "true" if persistent else "false", str(len(buffers)),
             "{" + ", ".join(buffer_argument(call, p) for p in buffers) + "}"]
    return "{" + ", ".join(cells) + "}"
