! Windows in the module mpi: the program's own memory, post-start-complete-wait, attributes, error codes.
program fortran_module
  use mpi
  implicit none
  integer :: win, rank, ranks, ierr, group, memory(10), x, class, code
  integer(kind=MPI_ADDRESS_KIND) :: bytes, disp, value
  logical :: flag

  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  memory = 0
  bytes = 40
  call MPI_WIN_CREATE(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call MPI_COMM_GROUP(MPI_COMM_WORLD, group, ierr)
  call MPI_WIN_POST(group, 0, win, ierr)
  call MPI_WIN_START(group, 0, win, ierr)
  x = 1
  disp = mod(rank, 10)
  call MPI_ACCUMULATE(x, 1, MPI_INTEGER, 0, disp, 1, MPI_INTEGER, MPI_SUM, win, ierr)
  call MPI_WIN_COMPLETE(win, ierr)
  call MPI_WIN_WAIT(win, ierr)
  if (rank == 0 .and. sum(memory) /= ranks) call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
  call MPI_WIN_GET_ATTR(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierr)
  if (.not. flag .or. value /= MPI_WIN_FLAVOR_CREATE) call MPI_ABORT(MPI_COMM_WORLD, 2, ierr)
  call MPI_WIN_SET_ERRHANDLER(win, MPI_ERRORS_RETURN, ierr)
  disp = 0
  call MPI_PUT(x, 1, MPI_INTEGER, 0, disp, 1, MPI_INTEGER, win, code)
  call MPI_ERROR_CLASS(code, class, ierr)
  if (class /= MPI_ERR_RMA_SYNC) call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
  call MPI_GROUP_FREE(group, ierr)
  call MPI_WIN_FREE(win, ierr)
  if (rank == 0) print *, 'No Errors'
  call MPI_FINALIZE(ierr)
end program fortran_module
