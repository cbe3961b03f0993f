! Spawning from Fortran: the program starts itself; parents and children sum over their merged communicator.
program spawn_fortran
  use mpi
  implicit none
  integer :: ierr, parent, inter, merged, rank, world, total, one, place
  integer :: codes(2)
  character(len=1000) :: program_name
  character(len=20) :: arguments(2)
  character(len=MPI_MAX_PORT_NAME) :: port
  call MPI_Init(ierr)
  call MPI_Comm_get_parent(parent, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, world, ierr)
  if (parent == MPI_COMM_NULL) then
    call MPI_Open_port(MPI_INFO_NULL, port, ierr)
    if (port(1:6) /= 'fgmpi1') call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    call MPI_Close_port(port, ierr)
    call get_command_argument(0, program_name)
    arguments(1) = 'an argument'
    arguments(2) = ' '
    codes = -1
    call MPI_Comm_spawn(trim(program_name), arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes, ierr)
    if (any(codes /= MPI_SUCCESS)) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
    call MPI_Intercomm_merge(inter, .false., merged, ierr)
  else
    call get_command_argument(1, program_name)
    if (program_name /= 'an argument' .or. world /= 2) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    inter = parent
    call MPI_Intercomm_merge(inter, .true., merged, ierr)
  end if
  one = 1
  call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, merged, ierr)
  call MPI_Comm_rank(merged, place, ierr)
  if (parent == MPI_COMM_NULL .and. (total /= world + 2 .or. place /= rank)) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
  call MPI_Comm_free(merged, ierr)
  call MPI_Comm_disconnect(inter, ierr)
  if (parent == MPI_COMM_NULL .and. rank == 0) print *, 'No Errors'
  call MPI_Finalize(ierr)
end program
