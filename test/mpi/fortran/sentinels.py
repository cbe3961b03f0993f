#!/usr/bin/env python3
"""Writes a Fortran program that passes each of MPI's special constants in each call that takes it.

  sentinels.py mpif|mpi|mpi_f08|mpi_f08_large

The constants are variables: a call must recognise them by their address. With several ranks a process each rank has its
own copy of them (mpif.h and mpi: common blocks of the program) or all share one (mpi_f08: variables of the library).

How the program sees that a constant was recognised:
  MPI_BOTTOM            types of absolute addresses bring the right numbers; in reductions, where a type of absolute
                        addresses means nothing, address 0 with a predefined type is refused with MPI_ERR_BUFFER
  MPI_IN_PLACE          the result of the collective
  MPI_STATUS(ES)_IGNORE the constant's own memory is never written
  MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY   what MPI_Dist_graph_neighbors_count says, weights that are read back
  MPI_ARGV(S)_NULL, MPI_ERRCODES_IGNORE   the program has C functions of its own in place of MPI_Comm_spawn(_multiple),
                        which see what the Fortran entries pass on
"""
import sys

binding = sys.argv[1]
f08 = binding.startswith("mpi_f08")
large = binding == "mpi_f08_large"
out = []


def emit(*lines):
    out.extend(lines)


def handle(kind):
    return f"type({kind})" if f08 else "integer"


COUNT = "integer(MPI_COUNT_KIND)" if large else "integer"
DISPLACEMENT = "integer(MPI_ADDRESS_KIND)" if large else "integer"
ONE, NONE = ("1_MPI_COUNT_KIND", "0_MPI_COUNT_KIND") if large else ("1", "0")
ROW, MINE = "[(value(i, rank + 1), i = 0, size - 1)]", "[value(rank, 1)]"
FIRSTS = "[(value(i, 1), i = 0, size - 1)]"



def spawn_functions(prefix):
    """The new communicator tells which arguments were null: 1 for the arguments, 2 for the error codes."""
    return f"""
  integer(c_int) function {prefix}one(command, argv, most, info, root, comm, made, codes) bind(c, name="{prefix}Comm_spawn")
    type(c_ptr), value :: command, argv, codes
    integer(c_int), value :: most, info, root, comm
    integer(c_int) :: made
    made = merge(1, 0, .not. c_associated(argv)) + merge(2, 0, .not. c_associated(codes))
    {prefix}one = 0
  end function
  integer(c_int) function {prefix}several(n, commands, argvs, most, infos, root, comm, made, codes) &
      bind(c, name="{prefix}Comm_spawn_multiple")
    integer(c_int), value :: n, root, comm
    type(c_ptr), value :: commands, argvs, most, infos, codes
    integer(c_int) :: made
    made = merge(1, 0, .not. c_associated(argvs)) + merge(2, 0, .not. c_associated(codes))
    {prefix}several = 0
  end function
"""


HEAD = f"""
module spawn_calls
  use iso_c_binding
contains
  ! In place of the library's, under both names: the entries of mpif.h call the one, those of mpi_f08 the other.
  {spawn_functions("MPI_")}
  {spawn_functions("PMPI_")}
end module

program sentinels
  {"use mpi_f08" if f08 else "use mpi" if binding == "mpi" else ""}
  use spawn_calls
  implicit none
  {"include 'mpif.h'" if binding == "mpif" else ""}
  integer, parameter :: most = 256
  integer, volatile, save, target :: source(most), target(most)
  {handle("MPI_Comm")} :: comm, alone, graph, made
  {handle("MPI_Datatype")} :: in_type, out_type, in_types(most), out_types(most), integers(most)
  {handle("MPI_Request")} :: request, requests(2)
  {handle("MPI_Message")} :: message
  {handle("MPI_Info")} :: infos(2)
  {COUNT} :: counts(most), position, packed_size
  {DISPLACEMENT} :: displacements(most), bytes(most)
  integer(MPI_ADDRESS_KIND) :: address, wide_bytes(most), wide_position
  integer :: rank, size, left, right, ierr, i, found, indices(2), which
  integer :: sources(2), ends(2), weights(2), weights_in(2), weights_out(2), indegree, outdegree
  logical :: flag, weighted
  character(len=64) :: packed, commands(2)
  character(len=4096), save :: buffer
  call MPI_INIT(ierr)
  comm = MPI_COMM_WORLD
  call MPI_COMM_RANK(comm, rank, ierr)
  call MPI_COMM_SIZE(comm, size, ierr)
  call MPI_COMM_DUP(MPI_COMM_SELF, alone, ierr)
  call MPI_COMM_SET_ERRHANDLER(alone, MPI_ERRORS_RETURN, ierr)
  left = modulo(rank - 1, size)
  right = modulo(rank + 1, size)
  call absolute(source, in_type)
  call absolute(target, out_type)
  in_types = in_type
  out_types = out_type
  integers = MPI_INTEGER
  counts = 1
  displacements = [(i, i = 0, most - 1)]
  bytes = [(4 * i, i = 0, most - 1)]
  wide_bytes = [(4 * i, i = 0, most - 1)]
"""

TAIL = f"""
  call MPI_TYPE_FREE(in_type, ierr)
  call MPI_TYPE_FREE(out_type, ierr)
  call MPI_COMM_FREE(alone, ierr)
  if (rank == 0) print '(a)', "No Errors"
  call MPI_FINALIZE(ierr)
contains
  integer function value(r, k)
    integer, intent(in) :: r, k
    value = r * 1000 + k
  end function
  ! One integer at the absolute address of `variable`; its extent is that of an integer.
  subroutine absolute(variable, made_type)
    integer, volatile, target :: variable(most)
    {handle("MPI_Datatype")} :: made_type
    integer(MPI_ADDRESS_KIND) :: places(1)
    call MPI_GET_ADDRESS(variable, places(1), ierr)
    call MPI_TYPE_CREATE_HINDEXED(1, [1], places, MPI_INTEGER, made_type, ierr)
    call MPI_TYPE_COMMIT(made_type, ierr)
  end subroutine
  subroutine fill()
    integer :: k
    do k = 1, most
      source(k) = value(rank, k)
      target(k) = -1
    end do
  end subroutine
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    print *, "rank", rank, ": wrong: ", what
    call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
  end subroutine
  ! What arrived in target, and that nobody has written to the constants for statuses.
  subroutine arrived(expected, what)
    integer, intent(in) :: expected(:)
    character(*), intent(in) :: what
    integer :: n
    n = ubound(expected, 1)
    call check(ierr == MPI_SUCCESS, what // ": code")
    call check(all(target(1:n) == expected), what)
    call check(target(n + 1) == -1, what // ": written behind its end")
    call untouched(what)
  end subroutine
  subroutine untouched(what)
    character(*), intent(in) :: what
    {'''call check(MPI_STATUS_IGNORE%MPI_TAG == 0 .and. MPI_STATUSES_IGNORE(1)%MPI_TAG == 0, what // ": MPI_STATUS_IGNORE was written to")'''
     if f08 else
     '''call check(MPI_STATUS_IGNORE(MPI_TAG) == 0 .and. MPI_STATUSES_IGNORE(MPI_TAG, 1) == 0, what // ": MPI_STATUS_IGNORE was written to")'''}
  end subroutine
  subroutine refused(what)
    character(*), intent(in) :: what
    integer :: class, again
    call MPI_ERROR_CLASS(ierr, class, again)
    call check(class == MPI_ERR_BUFFER, what // ": MPI_BOTTOM is not address 0")
  end subroutine
end program
"""


def call(name, *arguments):
    emit(f"  call {name}({', '.join(map(str, arguments))}, ierr)")


def wait():
    call("MPI_WAIT", "request", "MPI_STATUS_IGNORE")


def start_and_wait():
    call("MPI_START", "request")
    wait()
    call("MPI_REQUEST_FREE", "request")


def arrived(expected, what):
    emit(f'  call arrived({expected}, "{what}")')


FROM_LEFT = "[value(left, 1)]"


def point_to_point():
    receive = ["MPI_BOTTOM", ONE, "out_type", "left", 7, "comm"]
    send = ["MPI_BOTTOM", ONE, "in_type", "right", 7, "comm"]

    def sends():
        for mode in ("", "S", "R"):  # the receive is posted first, for ready mode
            for prefix, suffix in (("", ""), ("I", ""), ("", "_INIT")):
                name = f"MPI_{prefix}{mode}SEND{suffix}"
                emit("  call fill()", "  requests = MPI_REQUEST_NULL")
                call("MPI_IRECV", *receive, "requests(1)")
                call("MPI_BARRIER", "comm")
                if suffix or prefix:
                    call(name, *send, "requests(2)")
                    if suffix:
                        call("MPI_START", "requests(2)")
                    call("MPI_WAITALL", 2, "requests", "MPI_STATUSES_IGNORE")
                    if suffix:
                        call("MPI_REQUEST_FREE", "requests(2)")
                else:
                    call(name, *send)
                    call("MPI_WAIT", "requests(1)", "MPI_STATUS_IGNORE")
                arrived(FROM_LEFT, name)

    def eager():
        emit("  call fill()")
        call("MPI_SEND", *send)

    def receives():
        eager()
        call("MPI_RECV", *receive, "MPI_STATUS_IGNORE")
        arrived(FROM_LEFT, "MPI_RECV")
        eager()
        call("MPI_RECV_INIT", *receive, "request")
        start_and_wait()
        arrived(FROM_LEFT, "MPI_RECV_INIT")
        eager()
        call("MPI_PROBE", "left", 7, "comm", "MPI_STATUS_IGNORE")
        emit("  flag = .false.", "  do while (.not. flag)")
        call("MPI_IPROBE", "left", 7, "comm", "flag", "MPI_STATUS_IGNORE")
        emit("  end do")
        call("MPI_MPROBE", "left", 7, "comm", "message", "MPI_STATUS_IGNORE")
        call("MPI_MRECV", "MPI_BOTTOM", ONE, "out_type", "message", "MPI_STATUS_IGNORE")
        arrived(FROM_LEFT, "MPI_PROBE, MPI_IPROBE, MPI_MPROBE, MPI_MRECV")
        eager()
        emit("  flag = .false.", "  do while (.not. flag)")
        call("MPI_IMPROBE", "left", 7, "comm", "flag", "message", "MPI_STATUS_IGNORE")
        emit("  end do")
        call("MPI_IMRECV", "MPI_BOTTOM", ONE, "out_type", "message", "request")
        wait()
        arrived(FROM_LEFT, "MPI_IMPROBE, MPI_IMRECV")

    def both_ways():
        for prefix, end in (("", ["comm", "MPI_STATUS_IGNORE"]), ("I", ["comm", "request"])):
            emit("  call fill()")
            call(f"MPI_{prefix}SENDRECV", "MPI_BOTTOM", ONE, "in_type", "right", 7, "MPI_BOTTOM", ONE, "out_type",
                 "left", 7, *end)
            if prefix:
                wait()
            arrived(FROM_LEFT, f"MPI_{prefix}SENDRECV")
            emit("  call fill()", "  target(1) = value(rank, 1)")
            call(f"MPI_{prefix}SENDRECV_REPLACE", "MPI_BOTTOM", ONE, "out_type", "right", 7, "left", 7, *end)
            if prefix:
                wait()
            arrived(FROM_LEFT, f"MPI_{prefix}SENDRECV_REPLACE")

    def completions():
        loops = {
            "MPI_WAITANY": ["2", "requests", "which", "MPI_STATUS_IGNORE"],
            "MPI_WAITSOME": ["2", "requests", "found", "indices", "MPI_STATUSES_IGNORE"],
            "MPI_TESTANY": ["2", "requests", "which", "flag", "MPI_STATUS_IGNORE"],
            "MPI_TESTSOME": ["2", "requests", "found", "indices", "MPI_STATUSES_IGNORE"],
            "MPI_TESTALL": ["2", "requests", "flag", "MPI_STATUSES_IGNORE"],
        }
        for name, arguments in loops.items():
            emit("  call fill()")
            call("MPI_IRECV", *receive, "requests(1)")
            call("MPI_ISEND", *send, "requests(2)")
            emit("  do while (any(" + ("requests%MPI_VAL /= MPI_REQUEST_NULL%MPI_VAL" if f08 else
                                       "requests /= MPI_REQUEST_NULL") + "))")
            call(name, *arguments)
            emit("  end do")
            arrived(FROM_LEFT, name)
        emit("  call fill()")
        call("MPI_IRECV", *receive, "request")
        call("MPI_SEND", *send)
        emit("  flag = .false.", "  do while (.not. flag)")
        call("MPI_REQUEST_GET_STATUS", "request", "flag", "MPI_STATUS_IGNORE")
        emit("  end do", "  flag = .false.", "  do while (.not. flag)")
        call("MPI_TEST", "request", "flag", "MPI_STATUS_IGNORE")
        emit("  end do")
        arrived(FROM_LEFT, "MPI_REQUEST_GET_STATUS, MPI_TEST")

    def partitioned():
        wide = "1_MPI_COUNT_KIND"
        emit("  call fill()")
        call("MPI_PSEND_INIT", "MPI_BOTTOM", 1, wide, "in_type", "right", 9, "comm", "MPI_INFO_NULL", "requests(1)")
        call("MPI_PRECV_INIT", "MPI_BOTTOM", 1, wide, "out_type", "left", 9, "comm", "MPI_INFO_NULL", "requests(2)")
        call("MPI_STARTALL", 2, "requests")
        call("MPI_PREADY", 0, "requests(1)")
        call("MPI_WAITALL", 2, "requests", "MPI_STATUSES_IGNORE")
        call("MPI_REQUEST_FREE", "requests(1)")
        call("MPI_REQUEST_FREE", "requests(2)")
        arrived(FROM_LEFT, "MPI_PSEND_INIT, MPI_PRECV_INIT")

    def buffered():
        emit("  call fill()")
        call("MPI_BUFFER_ATTACH", "buffer", "4096" + ("_MPI_COUNT_KIND" if large else ""))
        for prefix, suffix in (("", ""), ("I", ""), ("", "_INIT")):
            emit("  call fill()")
            name = f"MPI_{prefix}BSEND{suffix}"
            call(name, *send, *(["request"] if prefix or suffix else []))
            if suffix:
                start_and_wait()
            elif prefix:
                wait()
            call("MPI_RECV", *receive, "MPI_STATUS_IGNORE")
            arrived(FROM_LEFT, name)

    def packing():
        emit("  call fill()", "  position = 0")
        call("MPI_PACK", "MPI_BOTTOM", ONE, "in_type", "packed", "64" + ("_MPI_COUNT_KIND" if large else ""),
             "position", "comm")
        emit("  packed_size = position", "  position = 0")
        call("MPI_UNPACK", "packed", "packed_size", "position", "MPI_BOTTOM", ONE, "out_type", "comm")
        arrived(MINE, "MPI_PACK, MPI_UNPACK")
        place = "position" if large else "wide_position"
        size = "64_MPI_COUNT_KIND" if large else "64_MPI_ADDRESS_KIND"
        emit("  call fill()", f"  {place} = 0")
        call("MPI_PACK_EXTERNAL", "'external32'", "MPI_BOTTOM", ONE, "in_type", "packed", size, place)
        emit(f"  {place} = 0")
        call("MPI_UNPACK_EXTERNAL", "'external32'", "packed", size, place, "MPI_BOTTOM", ONE, "out_type")
        arrived(MINE, "MPI_PACK_EXTERNAL, MPI_UNPACK_EXTERNAL")
        call("MPI_GET_ADDRESS", "MPI_BOTTOM", "address")
        emit('  call check(address == 0, "MPI_GET_ADDRESS of MPI_BOTTOM")')

    sends(), receives(), both_ways(), completions(), partitioned(), buffered(), packing()


def collective(name, arguments, expected, prepare=(), comm="comm"):
    """All forms of one collective: blocking, nonblocking, persistent."""
    for prefix, suffix in (("", ""), ("I", ""), ("", "_INIT")):
        full = f"MPI_{prefix}{name}{suffix}"
        emit("  call fill()", *(f"  {line}" for line in prepare))
        call(full, *arguments, comm, *(["MPI_INFO_NULL"] if suffix else []), *(["request"] if prefix or suffix else []))
        if expected is None:
            emit(f'  call refused("{full}")')
            continue
        if suffix:
            start_and_wait()
        elif prefix:
            wait()
        emit(f"  if ({expected[0]}) then" if expected[0] else "  if (.true.) then")
        arrived(expected[1], full + (" in place" if "MPI_IN_PLACE" in arguments else ""))
        emit("  end if")


def bottoms():
    data_in, data_out = ["MPI_BOTTOM", ONE, "in_type"], ["MPI_BOTTOM", ONE, "out_type"]
    parts_in = ["MPI_BOTTOM", "counts", "displacements", "in_type"]
    parts_out = ["MPI_BOTTOM", "counts", "displacements", "out_type"]
    bytes_ = "wide_bytes" if large else "bytes"
    typed_in = ["MPI_BOTTOM", "counts", bytes_, "in_types"]
    typed_out = ["MPI_BOTTOM", "counts", bytes_, "out_types"]
    collective("BCAST", [*data_out, 0], (None, "[value(0, 1)]"), ["if (rank == 0) target(1) = value(0, 1)"])
    collective("GATHER", [*data_in, *data_out, 0], ("rank == 0", FIRSTS))
    collective("GATHERV", [*data_in, *parts_out, 0], ("rank == 0", FIRSTS))
    collective("SCATTER", [*data_in, *data_out, 0], (None, "[value(0, rank + 1)]"))
    collective("SCATTERV", [*parts_in, *data_out, 0], (None, "[value(0, rank + 1)]"))
    collective("ALLGATHER", [*data_in, *data_out], (None, FIRSTS))
    collective("ALLGATHERV", [*data_in, *parts_out], (None, FIRSTS))
    collective("ALLTOALL", [*data_in, *data_out], (None, ROW))
    collective("ALLTOALLV", [*parts_in, *parts_out], (None, ROW))
    collective("ALLTOALLW", [*typed_in, *typed_out], (None, ROW))
    for name, middle in (("REDUCE", [ONE]), ("ALLREDUCE", [ONE]), ("REDUCE_SCATTER", ["counts"]),
                         ("REDUCE_SCATTER_BLOCK", [ONE]), ("SCAN", [ONE]), ("EXSCAN", [ONE])):
        end = [*middle, "MPI_INTEGER", "MPI_SUM", *([0] if name == "REDUCE" else [])]
        if name != "EXSCAN":
            collective(name, ["source", "MPI_BOTTOM", *end], None, comm="alone")
        collective(name, ["MPI_BOTTOM", "target", *end], None, comm="alone")
    call("MPI_REDUCE_LOCAL", "MPI_BOTTOM", "target", ONE, "MPI_INTEGER", "MPI_SUM")
    out[-1:] = [f"  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)",
                f"  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)", out[-1],
                '  call refused("MPI_REDUCE_LOCAL")']
    # A ring as a graph: from the left, to the right. Its neighbours in order of the graph's edges.
    call("MPI_DIST_GRAPH_CREATE_ADJACENT", "comm", 1, "[left]", "MPI_UNWEIGHTED", 1, "[right]", "MPI_UNWEIGHTED",
         "MPI_INFO_NULL", ".false.", "graph")
    wide = ["MPI_BOTTOM", "counts", "wide_bytes"]
    collective("NEIGHBOR_ALLGATHER", [*data_in, *data_out], (None, FROM_LEFT), comm="graph")
    collective("NEIGHBOR_ALLGATHERV", [*data_in, *parts_out], (None, FROM_LEFT), comm="graph")
    collective("NEIGHBOR_ALLTOALL", [*data_in, *data_out], (None, FROM_LEFT), comm="graph")
    collective("NEIGHBOR_ALLTOALLV", [*parts_in, *parts_out], (None, FROM_LEFT), comm="graph")
    collective("NEIGHBOR_ALLTOALLW", [*wide, "in_types", *wide, "out_types"], (None, FROM_LEFT), comm="graph")
    call("MPI_COMM_FREE", "graph")


def in_place():
    own = "target(rank + 1) = value(rank, 1)"
    here = ["MPI_IN_PLACE", NONE, "MPI_INTEGER"]
    data, parts = ["target", ONE, "MPI_INTEGER"], ["target", "counts", "displacements", "MPI_INTEGER"]
    source, source_parts = ["source", ONE, "MPI_INTEGER"], ["source", "counts", "displacements", "MPI_INTEGER"]
    bytes_ = "wide_bytes" if large else "bytes"
    columns = "target(1:size) = [(value(rank, i), i = 1, size)]"

    def at_root(name, root_arguments, other_arguments, expected, prepare):
        emit("  if (rank == 0) then")
        collective(name, [*root_arguments, 0], expected, prepare)
        emit("  else")
        collective(name, [*other_arguments, 0], expected, prepare)
        emit("  end if")

    at_root("GATHER", [*here, *data], [*source, *data], ("rank == 0", FIRSTS), [own])
    at_root("GATHERV", [*here, *parts], [*source, *parts], ("rank == 0", FIRSTS), [own])
    at_root("SCATTER", [*source, *here], [*source, *data], ("rank /= 0", "[value(0, rank + 1)]"), [])
    at_root("SCATTERV", [*source_parts, *here], [*source_parts, *data], ("rank /= 0", "[value(0, rank + 1)]"), [])
    collective("ALLGATHER", [*here, *data], (None, FIRSTS), [own])
    collective("ALLGATHERV", [*here, *parts], (None, FIRSTS), [own])
    collective("ALLTOALL", [*here, *data], (None, ROW), [columns])
    collective("ALLTOALLV", ["MPI_IN_PLACE", "counts", "displacements", "MPI_INTEGER", *parts], (None, ROW), [columns])
    collective("ALLTOALLW", ["MPI_IN_PLACE", "counts", bytes_, "integers", "target", "counts", bytes_, "integers"],
               (None, ROW), [columns])
    total, upto = "[1000 * (size * (size - 1) / 2) + size]", "[1000 * (rank * (rank + 1) / 2) + rank + 1]"
    number = "target(1) = value(rank, 1)"
    simple = [ONE, "MPI_INTEGER", "MPI_SUM"]
    at_root("REDUCE", ["MPI_IN_PLACE", "target", *simple], ["source", "target", *simple], ("rank == 0", total), [number])
    collective("ALLREDUCE", ["MPI_IN_PLACE", "target", *simple], (None, total), [number])
    collective("SCAN", ["MPI_IN_PLACE", "target", *simple], (None, upto), [number])
    collective("EXSCAN", ["MPI_IN_PLACE", "target", *simple],
               ("rank > 0", "[1000 * (rank * (rank - 1) / 2) + rank]"), [number])
    row = "target(1:size) = [(value(rank, i), i = 1, size)]"
    mine = "1000 * (size * (size - 1) / 2) + size * (rank + 1)"
    for name, middle in (("REDUCE_SCATTER", "counts"), ("REDUCE_SCATTER_BLOCK", ONE)):
        # What lies behind the result is undefined.
        collective(name, ["MPI_IN_PLACE", "target", middle, "MPI_INTEGER", "MPI_SUM"],
                   (None, f"[{mine}, target(2:size)]"), [row])


def graphs():
    def count(expected, what, degrees):
        call("MPI_DIST_GRAPH_NEIGHBORS_COUNT", "graph", "indegree", "outdegree", "weighted")
        emit(f'  call check((weighted .eqv. {expected}) .and. indegree == {degrees[0]} .and. outdegree == {degrees[1]}, "{what}")')

    def neighbors(weights_in, weights_out):
        call("MPI_DIST_GRAPH_NEIGHBORS", "graph", "indegree", "sources", weights_in, "outdegree", "ends", weights_out)

    end = ["MPI_INFO_NULL", ".false.", "graph"]
    ring = ["comm", 1, "[rank]", "[1]", "[right]"]
    weights = "[rank + 500]"
    for name, unweighted, weighted in (
        ("MPI_DIST_GRAPH_CREATE", [*ring, "MPI_UNWEIGHTED", *end], [*ring, weights, *end]),
        ("MPI_DIST_GRAPH_CREATE_ADJACENT",
         ["comm", 1, "[left]", "MPI_UNWEIGHTED", 1, "[right]", "MPI_UNWEIGHTED", *end],
         ["comm", 1, "[left]", "[left + 500]", 1, "[right]", weights, *end]),
    ):
        call(name, *unweighted)
        count(".false.", f"{name}, MPI_UNWEIGHTED", (1, 1))
        neighbors("MPI_UNWEIGHTED", "MPI_UNWEIGHTED")
        emit(f'  call check(sources(1) == left .and. ends(1) == right, "{name}, MPI_UNWEIGHTED: neighbours")')
        call("MPI_COMM_FREE", "graph")
        call(name, *weighted)
        count(".true.", name, (1, 1))
        # The weights of a weighted graph are not asked for: the constants stay as they are.
        emit("  sources = -1")
        neighbors("MPI_UNWEIGHTED", "MPI_UNWEIGHTED")
        emit(f'  call check(sources(1) == left, "{name}: neighbours without weights")')
        emit(f'  call check(all([MPI_UNWEIGHTED] == 0), "{name}: MPI_UNWEIGHTED was written to")')
        neighbors("weights_in", "weights_out")
        emit(f'  call check(weights_in(1) == left + 500 .and. weights_out(1) == rank + 500, "{name}: weights")')
        neighbors("weights_in", "MPI_UNWEIGHTED")
        neighbors("MPI_UNWEIGHTED", "weights_out")
        call("MPI_COMM_FREE", "graph")
    # Only rank 0 knows edges, with weights: from itself to all. Who knows none passes MPI_WEIGHTS_EMPTY.
    emit("  if (rank == 0) then")
    call("MPI_DIST_GRAPH_CREATE", "comm", 1, "[0]", "[size]", "[(i, i = 0, size - 1)]", "[(i + 40, i = 0, size - 1)]", *end)
    emit("  else")
    call("MPI_DIST_GRAPH_CREATE", "comm", 0, "sources", "sources", "ends", "MPI_WEIGHTS_EMPTY", *end)
    emit("  end if")
    count(".true.", "MPI_DIST_GRAPH_CREATE, MPI_WEIGHTS_EMPTY", (1, "merge(size, 0, rank == 0)"))
    call("MPI_DIST_GRAPH_NEIGHBORS", "graph", 1, "sources", "weights_in", 0, "ends", "MPI_WEIGHTS_EMPTY")
    emit('  call check(weights_in(1) == rank + 40, "MPI_DIST_GRAPH_CREATE, MPI_WEIGHTS_EMPTY: weight")')
    call("MPI_COMM_FREE", "graph")
    # Rank 0 sends to the last rank; nobody else has edges.
    for line in (
        "  if (size == 1) then",
        f"  call MPI_DIST_GRAPH_CREATE_ADJACENT(comm, 0, sources, MPI_WEIGHTS_EMPTY, 0, ends, MPI_WEIGHTS_EMPTY, {', '.join(end)}, ierr)",
        "  else if (rank == 0) then",
        f"  call MPI_DIST_GRAPH_CREATE_ADJACENT(comm, 0, sources, MPI_WEIGHTS_EMPTY, 1, [size - 1], [77], {', '.join(end)}, ierr)",
        "  else if (rank == size - 1) then",
        f"  call MPI_DIST_GRAPH_CREATE_ADJACENT(comm, 1, [0], [77], 0, ends, MPI_WEIGHTS_EMPTY, {', '.join(end)}, ierr)",
        "  else",
        f"  call MPI_DIST_GRAPH_CREATE_ADJACENT(comm, 0, sources, MPI_WEIGHTS_EMPTY, 0, ends, MPI_WEIGHTS_EMPTY, {', '.join(end)}, ierr)",
        "  end if",
    ):
        emit(line)
    count(".true.", "MPI_DIST_GRAPH_CREATE_ADJACENT, MPI_WEIGHTS_EMPTY",
          ("merge(1, 0, size > 1 .and. rank == size - 1)", "merge(1, 0, size > 1 .and. rank == 0)"))
    call("MPI_COMM_FREE", "graph")


def spawns():
    made = "made%MPI_VAL" if f08 else "made"
    emit('  commands = ["child", "     "]', "  infos = MPI_INFO_NULL")
    call("MPI_COMM_SPAWN", "'child'", "MPI_ARGV_NULL", 1, "MPI_INFO_NULL", 0, "comm", "made", "MPI_ERRCODES_IGNORE")
    emit(f'  call check({made} == 3, "MPI_COMM_SPAWN, MPI_ARGV_NULL, MPI_ERRCODES_IGNORE")')
    call("MPI_COMM_SPAWN", "'child'", "commands", 1, "MPI_INFO_NULL", 0, "comm", "made", "indices")
    emit(f'  call check({made} == 0, "MPI_COMM_SPAWN with arguments and codes")')
    call("MPI_COMM_SPAWN_MULTIPLE", 2, "commands", "MPI_ARGVS_NULL", "[1, 1]", "infos", 0, "comm", "made",
         "MPI_ERRCODES_IGNORE")
    emit(f'  call check({made} == 3, "MPI_COMM_SPAWN_MULTIPLE, MPI_ARGVS_NULL, MPI_ERRCODES_IGNORE")')


emit(*HEAD.splitlines())
point_to_point()
graphs()
bottoms()
in_place()
spawns()
emit(*TAIL.splitlines())
print("\n".join(out))
