#!/usr/bin/env python3
"""Writes a Fortran program that attaches MPI_BUFFER_AUTOMATIC to a communicator, so that more is sent in buffered mode than any
buffer of its own would hold.

  automatic_buffer.py mpif|mpi|mpi_f08
"""
import sys

binding = sys.argv[1]
f08 = binding == "mpi_f08"
print(f"""\
program automatic_buffer
  {"use mpi_f08" if f08 else "use mpi" if binding == "mpi" else ""}
  implicit none
  {"include 'mpif.h'" if binding == "mpif" else ""}
  integer, parameter :: n = 100000, times = 5
  {"type(MPI_Comm)" if f08 else "integer"} :: comm
  {"type(MPI_Request)" if f08 else "integer"} :: request
  integer :: rank, size, i, k, error
  integer, allocatable :: values(:)

  call MPI_Init(error)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
  call MPI_Comm_rank(comm, rank, error)
  call MPI_Comm_size(comm, size, error)
  allocate(values(n))
  call MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0, error)
  if (error /= MPI_SUCCESS) call fail("MPI_Comm_attach_buffer")
  do k = 1, times
    values = [(i * k + rank, i = 1, n)]
    call MPI_Bsend(values, n, MPI_INTEGER, modulo(rank + 1, size), k, comm, error)
    if (error /= MPI_SUCCESS) call fail("MPI_Bsend")
  end do
  do k = 1, times
    call MPI_Recv(values, n, MPI_INTEGER, modulo(rank - 1, size), k, comm, MPI_STATUS_IGNORE, error)
    if (any(values /= [(i * k + modulo(rank - 1, size), i = 1, n)])) call fail("values")
  end do
  call MPI_Comm_flush_buffer(comm, error)
  call MPI_Comm_iflush_buffer(comm, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Comm_free(comm, error)

  call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, error)
  if (error /= MPI_SUCCESS) call fail("MPI_Buffer_attach")
  values = rank
  call MPI_Bsend(values, n, MPI_INTEGER, modulo(rank + 1, size), 9, MPI_COMM_WORLD, error)
  call MPI_Recv(values, n, MPI_INTEGER, modulo(rank - 1, size), 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  if (any(values /= modulo(rank - 1, size))) call fail("values of the program's buffer")
  if (rank == 0) print '(a)', "No Errors"
  call MPI_Finalize(error)
contains
  subroutine fail(what)
    character(*), intent(in) :: what
    print *, "rank ", rank, ": ", what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine
end program
""")
