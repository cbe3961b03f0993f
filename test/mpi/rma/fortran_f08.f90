! Windows in the module mpi_f08: allocated memory by a C pointer, fence, lock, atomics, attributes.
program fortran_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Win) :: win
  type(c_ptr) :: base
  integer, pointer :: memory(:)
  integer :: rank, ranks, to, from, x, old, one
  integer(MPI_ADDRESS_KIND) :: bytes, disp, value
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  bytes = 40
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call c_f_pointer(base, memory, [10])
  memory = 0
  call MPI_Win_fence(0, win)
  x = 100 + rank
  disp = 3
  call MPI_Put(x, 1, MPI_INTEGER, to, disp, 1, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  if (memory(4) /= 100 + from) call MPI_Abort(MPI_COMM_WORLD, 1)
  one = 1
  disp = 0
  call MPI_Win_fence(0, win)
  call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)
  call MPI_Fetch_and_op(one, old, MPI_INTEGER, 0, disp, MPI_SUM, win)
  call MPI_Win_unlock(0, win)
  if (old < 0 .or. old >= ranks) call MPI_Abort(MPI_COMM_WORLD, 2)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0 .and. memory(1) /= ranks) call MPI_Abort(MPI_COMM_WORLD, 3)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
  if (.not. flag .or. value /= bytes) call MPI_Abort(MPI_COMM_WORLD, 4)
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
  if (.not. flag .or. value /= 4) call MPI_Abort(MPI_COMM_WORLD, 5)
  call MPI_Win_free(win)
  if (rank == 0) print *, 'No Errors'
  call MPI_Finalize()
end program fortran_f08
