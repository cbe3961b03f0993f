! Files from the module mpi: handles, offsets, statuses, requests, error handlers.
program fortran_module
  use mpi
  implicit none
  integer :: f
  integer :: s(MPI_STATUS_SIZE)
  integer :: r
  integer :: info
  integer :: etype, filetype, every
  integer :: handler
  integer :: rank, size, n, code, class, i, e
  integer, asynchronous :: out(6), in(6)
  integer(MPI_OFFSET_KIND) :: at
  character(len=64) :: rep
  character(len=*), parameter :: name = 'fgmpi_fortran_module'

  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  call MPI_File_open(MPI_COMM_WORLD, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, f, code)
  call MPI_Error_class(code, class, e)
  call check(class == MPI_ERR_NO_SUCH_FILE)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, f, e)
  call MPI_File_get_errhandler(f, handler, e)
  call check(handler == MPI_ERRORS_RETURN)
  call MPI_Type_vector(3, 2, 2 * size, MPI_INTEGER, every, e)
  call MPI_Type_commit(every, e)
  at = 8 * rank
  call MPI_File_set_view(f, at, MPI_INTEGER, every, 'native', MPI_INFO_NULL, e)
  out = [(10 * rank + i, i = 1, 6)]
  call MPI_File_write_all(f, out, 6, MPI_INTEGER, s, e)
  call MPI_Get_count(s, MPI_INTEGER, n, e)
  call check(n == 6)
  call MPI_File_get_view(f, at, etype, filetype, rep, e)
  call check(at == 8 * rank .and. etype == MPI_INTEGER .and. rep == 'native')
  call MPI_Type_free(filetype, e)
  at = 0
  call MPI_File_iread_at(f, at, in, 6, MPI_INTEGER, r, e)
  call MPI_Wait(r, s, e)
  call check(all(in == out))
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call MPI_File_set_view(f, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, e)
  at = 2 * mod(rank + 1, size)
  call MPI_File_read_at_all(f, at, in, 2, MPI_INTEGER, s, e)
  call check(in(1) == 10 * mod(rank + 1, size) + 1)
  call MPI_File_read_ordered(f, in, 1, MPI_INTEGER, s, e)
  call MPI_File_get_position_shared(f, at, e)
  call check(at == size)
  call MPI_File_get_info(f, info, e)
  call MPI_Info_free(info, e)
  call MPI_Type_free(every, e)
  call MPI_File_close(f, e)
  call check(f == MPI_FILE_NULL)
  call MPI_Barrier(MPI_COMM_WORLD, e)
  if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL, e)
  if (rank == 0) print '(a)', ' No Errors'
  call MPI_Finalize(e)

contains
  subroutine check(good)
    logical, intent(in) :: good
    if (good) return
    print *, 'rank', rank, ': a check failed'
    call MPI_Abort(MPI_COMM_WORLD, 1, e)
  end subroutine
end program
