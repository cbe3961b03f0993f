! A child in Fortran, for other programs.
program child_fortran
  use mpi
  implicit none
  integer :: ierr, parent, rank, remote, total
  character(len=100) :: argument
  call MPI_Init(ierr)
  call MPI_Comm_get_parent(parent, ierr)
  call get_command_argument(1, argument)
  if (parent == MPI_COMM_NULL .or. argument /= 'an argument') call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Comm_rank(parent, rank, ierr)
  call MPI_Comm_remote_size(parent, remote, ierr)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, parent, ierr)
  if (total /= remote * (remote - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
  call MPI_Comm_disconnect(parent, ierr)
  call MPI_Finalize(ierr)
end program
