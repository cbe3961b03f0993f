! Parents in Fortran, children in C, C++ and Fortran: as proclets of the running processes, where these can be, and as
! processes.
program fortran_parent
  use mpi
  implicit none
  integer :: ierr
  character(len=1000) :: folder
  call MPI_Init(ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call get_command_argument(0, folder)
  folder = folder(1:index(folder, '/', .true.))
  call spawn('child_c', 'here', .false.)
  call spawn('child_cxx', 'here', .false.)
  call spawn('child_fortran', 'here', .true.)
  call spawn('child_fortran', 'processes', .false.)
  call spawn('child_c', 'processes', .false.)
  call report()
  call MPI_Finalize(ierr)
contains
  subroutine spawn(name, place, refused)
    character(len=*), intent(in) :: name, place
    logical, intent(in) :: refused
    integer :: info, children, rank, remote, total, code, class, ierr
    integer :: codes(3)
    character(len=20) :: arguments(2)
    arguments(1) = 'an argument'
    arguments(2) = ' '
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'fgmpi_where', place, ierr)
    call MPI_Comm_spawn(trim(folder) // name, arguments, 3, info, 0, MPI_COMM_WORLD, children, codes, code)
    call MPI_Info_free(info, ierr)
    if (refused) then
      call MPI_Error_class(code, class, ierr)
      if (class /= MPI_ERR_SPAWN) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
      return
    end if
    if (code /= MPI_SUCCESS .or. any(codes /= MPI_SUCCESS)) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
    call MPI_Comm_rank(children, rank, ierr)
    call MPI_Comm_remote_size(children, remote, ierr)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, children, ierr)
    if (total /= remote * (remote - 1) / 2 .or. remote /= 3) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    call MPI_Comm_disconnect(children, ierr)
  end subroutine
  subroutine report()
    integer :: rank, ierr
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    if (rank == 0) print *, 'No Errors'
  end subroutine
end program
