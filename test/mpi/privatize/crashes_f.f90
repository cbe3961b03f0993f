! Rank 0 uses up its stack, or stops with a status; run by crashes.sh.
module deep
contains
  recursive integer function recurse(n) result(r)
    integer, intent(in) :: n
    integer :: frame(128)
    frame = n
    if (n == 0) then
      r = 0
    else
      r = recurse(n - 1) + frame(1 + mod(n, 128))
    end if
  end function
end module
program crashes_f
  use mpi
  use deep
  integer :: rank, ierr
  character(20) :: how
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call get_command_argument(1, how)
  if (rank == 0 .and. how == 'overflow') print *, recurse(100000000)
  if (rank == 0 .and. how == 'stop') stop 3
  if (rank == 0 .and. how == 'error') error stop 4
  call MPI_Finalize(ierr)
  if (how == '') print *, 'No Errors'
end program
