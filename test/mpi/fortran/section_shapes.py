#!/usr/bin/env python3
"""Writes a program that sends and reduces array sections of all ranks (1 to 15) and of several strides, also negative ones.

Each section is compared with a contiguous copy of it: a message of the section arrives as one of the copy, a message into a section
changes its elements alone, and so with MPI_Sendrecv, MPI_Isend, MPI_Allreduce and MPI_Bcast. Counts are also smaller than the
section, and datatypes are derived.
"""

# Extents and sections of each rank: (extent, first, last, stride) of each dimension.
SHAPES = {
    1: [[(20, 1, 20, 2)], [(20, 20, 1, -3)], [(20, 3, 17, 1)]],
    2: [[(20, 1, 20, 2), (4, 1, 4, 1)], [(6, 1, 6, 1), (9, 1, 9, 4)], [(5, 5, 1, -2), (7, 6, 2, -1)], [(6, 2, 5, 1), (5, 2, 4, 1)]],
    3: [[(4, 1, 4, 3), (5, 1, 5, 2), (3, 3, 1, -1)], [(4, 1, 4, 1), (5, 1, 5, 1), (6, 1, 6, 5)]],
}
for rank in range(4, 16):
    SHAPES[rank] = [[(2, 1, 2, 1)] * (rank - 2) + [(3, 1, 3, 2), (3, 3, 1, -2)], [(3, 1, 3, 2)] + [(2, 2, 1, -1)] * 2 + [(1, 1, 1, 1)] * (rank - 3)]

out = []
number = 0
for rank, shapes in SHAPES.items():
    for shape in shapes:
        number += 1
        extents = ", ".join(str(e) for e, *_ in shape)
        section = ", ".join(f"{first}:{last}:{step}" for _, first, last, step in shape)
        sizes = [len(range(first, last + (1 if step > 0 else -1), step)) for _, first, last, step in shape]
        n = 1
        for s in sizes:
            n *= s
        fewer = max(1, n - 2)
        out.append(f"""
subroutine case_{number}()
  integer :: a({extents}), b({extents}), before({extents}), copy({n}), got({n}), k
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: pair
  a = reshape([(1000 * rank + k, k = 1, size(a))], shape(a))
  copy = reshape(a({section}), [{n}])
  ! A section leaves as its copy would.
  got = -1
  call MPI_Sendrecv(a({section}), {n}, MPI_INTEGER, right, 1, got, {n}, MPI_INTEGER, left, 1, comm, MPI_STATUS_IGNORE)
  call check(all(got == copy + 1000 * (left - rank)), {number}, 'a section that is sent')
  ! Messages into a section, with fewer elements, change these alone.
  b = -7
  before = b
  call MPI_Irecv(b({section}), {n}, MPI_INTEGER, left, 2, comm, requests(1))
  call MPI_Isend(copy, {fewer}, MPI_INTEGER, right, 2, comm, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  got = reshape(b({section}), [{n}])
  call check(all(got(:{fewer}) == copy(:{fewer}) + 1000 * (left - rank)) .and. all(got({fewer} + 1:) == -7), {number}, 'a part')
  b({section}) = before({section})
  call check(all(b == before), {number}, 'elements beside a section')
  ! Derived datatypes, and large counts.
  call MPI_Type_contiguous({n}, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  b = -7
  call MPI_Sendrecv(a({section}), 1_MPI_COUNT_KIND, pair, right, 3, b({section}), {n}_MPI_COUNT_KIND, MPI_INTEGER, left, 3, comm, &
                    MPI_STATUS_IGNORE)
  call check(all(reshape(b({section}), [{n}]) == copy + 1000 * (left - rank)), {number}, 'a derived datatype')
  call MPI_Type_free(pair)
  ! Reductions and broadcasts.
  b = -7
  call MPI_Allreduce(a({section}), b({section}), {n}, MPI_INTEGER, MPI_MAX, comm)
  call check(all(reshape(b({section}), [{n}]) == copy + 1000 * (ranks - 1 - rank)), {number}, 'a reduction')
  b({section}) = before({section})
  call check(all(b == -7), {number}, 'elements beside a result')
  call MPI_Bcast(a({section}), {n}, MPI_INTEGER, 0, comm)
  call check(all(reshape(a({section}), [{n}]) == copy - 1000 * rank), {number}, 'a broadcast')
end subroutine""")

print(f"""
module cases
  use mpi_f08
  implicit none
  integer :: rank, ranks, left, right
  type(MPI_Comm) :: comm
contains
  subroutine check(ok, number, what)
    logical, intent(in) :: ok
    integer, intent(in) :: number
    character(*), intent(in) :: what
    if (ok) return
    print *, 'rank', rank, ', section', number, ': wrong: ', what
    call MPI_Abort(comm, 1)
  end subroutine
{"".join(out)}
end module
program section_shapes
  use cases
  implicit none
  call MPI_Init()
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
{chr(10).join(f"  call case_{i}()" for i in range(1, number + 1))}
  if (rank == 0) print '(a)', ' No Errors'
  call MPI_Finalize()
end program
""")
