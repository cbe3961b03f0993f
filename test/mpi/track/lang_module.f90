! lang_c.c in Fortran with the module mpi.
program lang_module
  use mpi
  implicit none
  integer :: rank, size, value, got = -1, ierror
  logical :: flag
  integer :: dup, half, again
  integer :: requests(2), request
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierror)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierror)
  value = rank
  if (rank == 0) call MPI_Send(value, 1, MPI_INTEGER, size - 1, 5, dup, ierror)
  if (rank == size - 1) call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, dup, MPI_STATUS_IGNORE, ierror)
  call MPI_Irecv(got, 1, MPI_INTEGER, mod(rank + size - 1, size), 6, dup, requests(1), ierror)
  call MPI_Isend(value, 1, MPI_INTEGER, mod(rank + 1, size), 6, dup, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (got /= mod(rank + size - 1, size)) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
  call MPI_Comm_idup(dup, again, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Ibarrier(again, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Irecv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, request, ierror)
  call MPI_Send(value, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, ierror)
  call MPI_Test(request, flag, MPI_STATUS_IGNORE, ierror)
  if (.not. flag .or. got /= rank) call MPI_Abort(MPI_COMM_WORLD, 4, ierror)
  call MPI_Bcast(value, 1, MPI_INTEGER, 0, half, ierror)
  call MPI_Barrier(half, ierror)
  call MPI_Comm_free(again, ierror)
  call MPI_Comm_free(half, ierror)
  call MPI_Comm_free(dup, ierror)
  call MPI_Finalize(ierror)
end program lang_module
