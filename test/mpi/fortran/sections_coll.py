"""Writes a program that calls each collective of mpi_f08 with array sections and compares the result with that of the same
call on contiguous arrays. Blocking, nonblocking, and persistent forms.

  sections_coll.py [large] [mpich5]      large: with large counts
                                         mpich5: without calls that MPICH 5.0's mpi_f08 makes for graphs alone
"""

import sys

# Name, arguments before the communicator. {S}: send buffer, {R}: receive buffer, {T}: datatype, {C}: kind of counts,
# {P:x}: MPI_IN_PLACE at the root, x elsewhere.
CALLS = [
    ("Bcast", "{R}, 5_{C}, {T}, root"),
    ("Gather", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}, root"),
    ("Gather", "{P:S}, 3_{C}, {T}, {R}, 3_{C}, {T}, root"),
    ("Gatherv", "{S}, own, {T}, {R}, counts, displs, {T}, root"),
    ("Scatter", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}, root"),
    ("Scatter", "{S}, 3_{C}, {T}, {P:R}, 3_{C}, {T}, root"),
    ("Scatterv", "{S}, counts, displs, {T}, {R}, own, {T}, root"),
    ("Allgather", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}"),
    ("Allgather", "MPI_IN_PLACE, 0_{C}, MPI_DATATYPE_NULL, {R}, 3_{C}, {T}"),
    ("Allgatherv", "{S}, own, {T}, {R}, counts, displs, {T}"),
    ("Alltoall", "{S}, 2_{C}, {T}, {R}, 2_{C}, {T}"),
    ("Alltoall", "MPI_IN_PLACE, 0_{C}, MPI_DATATYPE_NULL, {R}, 2_{C}, {T}"),
    ("Alltoallv", "{S}, pairs, displs, {T}, {R}, pairs, displs, {T}"),
    ("Alltoallw", "{S}, pairs, bytes, types, {R}, pairs, bytes, types"),
    ("Alltoallw", "MPI_IN_PLACE, pairs, bytes, types, {R}, pairs, bytes, types"),
    ("Reduce", "{S}, {R}, 5_{C}, MPI_INTEGER, MPI_SUM, root"),
    ("Reduce", "{P:S}, {R}, 5_{C}, MPI_INTEGER, last, root"),
    ("Reduce", "{S}, {R}, 3_{C}, MPI_2INTEGER, MPI_MAXLOC, root"),
    ("Allreduce", "{S}, {R}, 5_{C}, MPI_INTEGER, MPI_SUM"),
    ("Allreduce", "MPI_IN_PLACE, {R}, 5_{C}, MPI_INTEGER, MPI_BXOR"),
    ("Reduce_scatter", "{S}, {R}, counts, MPI_INTEGER, MPI_SUM"),
    ("Reduce_scatter", "MPI_IN_PLACE, {R}, counts, MPI_INTEGER, MPI_SUM"),
    ("Reduce_scatter_block", "{S}, {R}, 2_{C}, MPI_INTEGER, MPI_MAX"),
    ("Reduce_scatter_block", "MPI_IN_PLACE, {R}, 2_{C}, MPI_INTEGER, last"),
    ("Scan", "{S}, {R}, 5_{C}, MPI_INTEGER, MPI_SUM"),
    ("Scan", "MPI_IN_PLACE, {R}, 5_{C}, MPI_INTEGER, MPI_SUM"),
    ("Exscan", "{S}, {R}, 5_{C}, MPI_INTEGER, MPI_SUM"),
    ("Exscan", "MPI_IN_PLACE, {R}, 5_{C}, MPI_INTEGER, last"),
    ("Neighbor_allgather", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}"),
    ("Neighbor_allgatherv", "{S}, 2_{C}, {T}, {R}, two, apart, {T}"),
    ("Neighbor_alltoall", "{S}, 2_{C}, {T}, {R}, 2_{C}, {T}"),
    ("Neighbor_alltoallv", "{S}, two, apart, {T}, {R}, two, apart, {T}"),
    ("Neighbor_alltoallw", "{S}, two, far, two_types, {R}, two, far, two_types"),
]
# On an intercommunicator of ranks 0, 2, 4, ... and 1, 3, 5, ...; root_of_group: MPI_ROOT, MPI_PROC_NULL or 0.
BETWEEN = [
    ("Bcast", "{R}, 5_{C}, {T}, root_of_group"),
    ("Gather", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}, root_of_group"),
    ("Scatter", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}, root_of_group"),
    ("Allgather", "{S}, 3_{C}, {T}, {R}, 3_{C}, {T}"),
    ("Alltoall", "{S}, 2_{C}, {T}, {R}, 2_{C}, {T}"),
    ("Reduce", "{S}, {R}, 5_{C}, MPI_INTEGER, MPI_SUM, root_of_group"),
    ("Allreduce", "{S}, {R}, 5_{C}, MPI_INTEGER, MPI_SUM"),
]
FORMS = ("blocking", "nonblocking", "persistent")
SEND, RECV = "s(1:3:2, :)", "r(2, m:1:-1)"
PLAIN_SEND, PLAIN_RECV = "plain_s", "plain_r"


def call(name, arguments, form, comm, send, recv, type_, kind):
    text = arguments
    for mark, value in (("{C}", kind), ("{T}", type_), ("{S}", send), ("{R}", recv)):
        text = text.replace(mark, value)
    before = {"blocking": f"MPI_{name}", "nonblocking": f"MPI_I{name.lower()}", "persistent": f"MPI_{name}_init"}[form]
    behind = {"blocking": "", "nonblocking": ", request", "persistent": ", MPI_INFO_NULL, request"}[form]

    def line(place):
        filled = text.replace("{P:S}", place or send).replace("{P:R}", place or recv)
        return f"call {before}({filled}, {comm}{behind})"

    if "{P:" not in text:
        return [line("")]
    return ["if (rank == root) then", "  " + line("MPI_IN_PLACE"), "else", "  " + line(""), "end if"]


def check(number, name, arguments, form, comm, type_, kind):
    lines = [f"! {name}, {form}", f"call begin({number})"]
    lines += call(name, arguments, form, comm, PLAIN_SEND, PLAIN_RECV, type_, kind)
    if form == "nonblocking":
        lines.append("call MPI_Wait(request, MPI_STATUS_IGNORE)")
    if form == "persistent":
        lines += ["call MPI_Start(request)", "call MPI_Wait(request, MPI_STATUS_IGNORE)", "call MPI_Request_free(request)"]
    lines += call(name, arguments, form, comm, SEND, RECV, type_, kind)
    if form == "nonblocking":
        lines.append("call MPI_Wait(request, MPI_STATUS_IGNORE)")
    if form == "persistent":
        # A first round with other data.
        lines += ["call other_data()", "call MPI_Start(request)", "call MPI_Wait(request, MPI_STATUS_IGNORE)",
                  "call same_data()", "call MPI_Start(request)", "call MPI_Wait(request, MPI_STATUS_IGNORE)",
                  "call MPI_Request_free(request)"]
    lines.append(f'call compare("{name}, {form}, {type_}")')
    return lines


def program(kind):
    wide = kind == "big"
    lines = []
    number = 0
    for calls, comm in ((CALLS, "MPI_COMM_WORLD"), (BETWEEN, "between")):
        body = []
        for name, arguments in calls:
            where = "ring" if name.startswith("Neighbor") else comm
            for type_ in ("MPI_INTEGER", "gap") if "{T}" in arguments else ("MPI_INTEGER",):
                if "types" in arguments and type_ == "gap":
                    continue
                for form in FORMS:
                    if comm == "between" and form == "persistent":
                        continue
                    number += 1
                    body += check(number, name, arguments, form, where, type_, kind)
        if comm == "between":
            body = ["if (size > 1) then", "call split()", *body, "call MPI_Comm_free(between)", "end if"]
        lines += body
    counts = "MPI_COUNT_KIND" if wide else "kind(0)"
    displs = "MPI_ADDRESS_KIND" if wide else "kind(0)"
    return HEAD.format(counts=counts, displs=displs, kind=kind) + "\n".join("  " + line for line in lines) + TAIL


HEAD = """module operation
contains
  ! The right operand: associative, not commutative.
  subroutine take_right(a, b, n, type)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    use mpi_f08
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: type
    integer, pointer :: left(:), right(:)
    if (type /= MPI_INTEGER) return
    call c_f_pointer(a, left, [n])
    call c_f_pointer(b, right, [n])
    right = ieor(right, ishft(left, 1))
    right = right + 0 * left
  end subroutine
end module

program sections_coll
  use mpi_f08
  use operation
  implicit none
  integer, parameter :: {kind} = {counts}, dk = {displs}, root = 0, untouched = -7
  integer :: rank, size, m, i, root_of_group
  integer({kind}) :: own, two(2)
  integer(dk) :: apart(2)
  integer(MPI_ADDRESS_KIND) :: far(2)
  integer({kind}), allocatable :: counts(:), pairs(:)
  integer(dk), allocatable :: displs(:), bytes(:)
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Datatype) :: gap, pieces, two_types(2)
  type(MPI_Op) :: last
  type(MPI_Comm) :: ring, half, between
  type(MPI_Request) :: request
  integer, allocatable :: s(:, :), r(:, :), plain_s(:), plain_r(:), kept_s(:, :), kept_r(:, :)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  m = 16 * size + 32
  allocate (s(4, m), r(3, m), plain_s(2 * m), plain_r(m), kept_s(4, m), kept_r(3, m))
  counts = [(int(1 + modulo(i, 3), {kind}), i=0, size - 1)]
  own = counts(rank + 1)
  pairs = [(int(1 + modulo(i + rank, 3), {kind}), i=0, size - 1)]
  displs = [(int(4 * i + 1, dk), i=0, size - 1)]
  bytes = 4 * displs
  types = [(MPI_INTEGER, i=1, size)]
  two = 2
  apart = [1_dk, 6_dk]
  far = [8_MPI_ADDRESS_KIND, 24_MPI_ADDRESS_KIND]
  two_types = MPI_INTEGER
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pieces)
  call MPI_Type_create_resized(pieces, 0_MPI_ADDRESS_KIND, 12_MPI_ADDRESS_KIND, gap)
  call MPI_Type_commit(gap)
  call MPI_Op_create(take_right, .false., last)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., ring)
"""

TAIL = """
  call MPI_Comm_free(ring)
  call MPI_Finalize()
contains
  subroutine begin(number)
    integer, intent(in) :: number
    s = untouched
    r = untouched
    s(1:3:2, :) = reshape([(number + rank * 1000 + i, i=1, 2 * m)], [2, m])
    r(2, :) = [(-number - rank * 1000 - i, i=1, m)]
    plain_s = pack(s(1:3:2, :), .true.)
    plain_r = r(2, m:1:-1)
    kept_s = s
    kept_r = r
  end subroutine

  subroutine other_data()
    s = s + 17
    r = r - 17
  end subroutine

  subroutine same_data()
    s = kept_s
    r = kept_r
  end subroutine

  subroutine compare(what)
    character(*), intent(in) :: what
    if (any(r(2, m:1:-1) /= plain_r)) then
      do i = 1, m
        if (r(2, m + 1 - i) /= plain_r(i)) exit
      end do
      print *, "rank", rank, ": ", what, ": element", i, " is ", r(2, m + 1 - i), ", expected ", plain_r(i)
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    if (any(r(1:3:2, :) /= untouched) .or. any(s /= kept_s)) then
      print *, "rank", rank, ": ", what, " has written beside the section"
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
  end subroutine

  ! Rank 0 of the even group is the root.
  subroutine split()
    call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), rank, half)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, modulo(rank + 1, 2), 1, between)
    call MPI_Comm_free(half)
    root_of_group = 0
    if (modulo(rank, 2) == 0) root_of_group = MPI_PROC_NULL
    if (rank == 0) root_of_group = MPI_ROOT
  end subroutine
end program
"""

if "mpich5" in sys.argv:
    CALLS = [call for call in CALLS if not call[0].startswith("Neighbor_alltoall") or call[0] == "Neighbor_alltoall"]
print(program("big" if "large" in sys.argv else "small"))
