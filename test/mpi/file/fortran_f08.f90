! Files from Fortran 2008: handles, offsets, statuses, requests, error handlers.
program fortran_f08
  use mpi_f08
  implicit none
  type(MPI_File) :: f
  type(MPI_Status) :: s
  type(MPI_Request) :: r
  type(MPI_Info) :: info
  type(MPI_Datatype) :: etype, filetype, every
  type(MPI_Errhandler) :: handler
  integer :: rank, size, n, code, class, i
  integer, asynchronous :: out(6), in(6)
  integer(MPI_OFFSET_KIND) :: at
  character(len=64) :: rep
  character(len=*), parameter :: name = 'fgmpi_fortran_f08'

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_File_open(MPI_COMM_WORLD, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, f, code)
  call MPI_Error_class(code, class)
  call check(class == MPI_ERR_NO_SUCH_FILE)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, f)
  call MPI_File_get_errhandler(f, handler)
  call check(handler == MPI_ERRORS_RETURN)
  call MPI_Type_vector(3, 2, 2 * size, MPI_INTEGER, every)
  call MPI_Type_commit(every)
  at = 8 * rank
  call MPI_File_set_view(f, at, MPI_INTEGER, every, 'native', MPI_INFO_NULL)
  out = [(10 * rank + i, i = 1, 6)]
  call MPI_File_write_all(f, out, 6, MPI_INTEGER, s)
  call MPI_Get_count(s, MPI_INTEGER, n)
  call check(n == 6)
  call MPI_File_get_view(f, at, etype, filetype, rep)
  call check(at == 8 * rank .and. etype == MPI_INTEGER .and. rep == 'native')
  call MPI_Type_free(filetype)
  at = 0
  call MPI_File_iread_at(f, at, in, 6, MPI_INTEGER, r)
  call MPI_Wait(r, s)
  call check(all(in == out))
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_set_view(f, at, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
  at = 2 * mod(rank + 1, size)
  call MPI_File_read_at_all(f, at, in, 2, MPI_INTEGER, s)
  call check(in(1) == 10 * mod(rank + 1, size) + 1)
  call MPI_File_read_ordered(f, in, 1, MPI_INTEGER, s)
  call MPI_File_get_position_shared(f, at)
  call check(at == size)
  call MPI_File_get_info(f, info)
  call MPI_Info_free(info)
  call MPI_Type_free(every)
  call MPI_File_close(f)
  call check(f == MPI_FILE_NULL)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL)
  if (rank == 0) print '(a)', ' No Errors'
  call MPI_Finalize()

contains
  subroutine check(good)
    logical, intent(in) :: good
    if (good) return
    print *, 'rank', rank, ': a check failed'
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
