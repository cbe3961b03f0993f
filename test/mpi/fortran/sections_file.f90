! Array sections as buffers of file access in mpi_f08: what each call writes is read by the same kind of call, and compared
! element by element, and so is what must not be touched.
program sections_file
  use mpi_f08
  implicit none
  integer, parameter :: untouched = -7, n = 13, last_way = 10
  character(40) :: name
  integer :: a(20, 4), b(20, 4), rank, size, way, got
  integer(MPI_OFFSET_KIND) :: at
  type(MPI_File) :: file
  type(MPI_Request) :: request
  type(MPI_Status) :: status

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  ! Several runs may share the folder.
  got = getpid()
  call MPI_Bcast(got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  write (name, '(a, i0)') "sections_file.", got
  a = reshape([(1000 * rank + way, way=1, 80)], [20, 4])
  at = 4_MPI_OFFSET_KIND * n * rank
  do way = 1, last_way
    call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_seek(file, at, MPI_SEEK_SET)
    select case (way)
    case (1)
      call MPI_File_write_at(file, at, a(1:20:2, :), n, MPI_INTEGER, status)
    case (2)
      call MPI_File_write_at_all(file, at, a(1:20:2, :), n, MPI_INTEGER, status)
    case (3)
      call MPI_File_iwrite_at(file, at, a(1:20:2, :), n, MPI_INTEGER, request)
      call MPI_Wait(request, status)
    case (4)
      call MPI_File_iwrite_at_all(file, at, a(1:20:2, :), n, MPI_INTEGER, request)
      call MPI_Wait(request, status)
    case (5)
      call MPI_File_write(file, a(1:20:2, :), n, MPI_INTEGER, status)
    case (6)
      call MPI_File_write_all(file, a(1:20:2, :), n, MPI_INTEGER, status)
    case (7)
      call MPI_File_iwrite(file, a(1:20:2, :), n, MPI_INTEGER, request)
      call MPI_Wait(request, status)
    case (8)
      call MPI_File_write_at_all_begin(file, at, a(1:20:2, :), n, MPI_INTEGER)
      call MPI_File_write_at_all_end(file, a(1:20:2, :), status)
    case (9)
      call MPI_File_write_ordered(file, a(1:20:2, :), n, MPI_INTEGER, status)
    case (10)
      call MPI_File_write_ordered_begin(file, a(1:20:2, :), n, MPI_INTEGER)
      call MPI_File_write_ordered_end(file, a(1:20:2, :), status)
    end select
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == n, "elements written")
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_sync(file)
    call MPI_File_seek(file, at, MPI_SEEK_SET)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    b = untouched
    select case (way)
    case (1)
      call MPI_File_read_at(file, at, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, status)
    case (2)
      call MPI_File_read_at_all(file, at, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, status)
    case (3)
      call MPI_File_iread_at(file, at, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, request)
      call MPI_Wait(request, status)
    case (4)
      call MPI_File_iread_at_all(file, at, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, request)
      call MPI_Wait(request, status)
    case (5)
      call MPI_File_read(file, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, status)
    case (6)
      call MPI_File_read_all(file, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, status)
    case (7)
      call MPI_File_iread(file, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, request)
      call MPI_Wait(request, status)
    case (8)
      call MPI_File_read_at_all_begin(file, at, b(20:1:-3, 4:1:-2), n, MPI_INTEGER)
      call MPI_File_read_at_all_end(file, b(20:1:-3, 4:1:-2), status)
    case (9)
      call MPI_File_read_ordered(file, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, status)
    case (10)
      call MPI_File_read_ordered_begin(file, b(20:1:-3, 4:1:-2), n, MPI_INTEGER)
      call MPI_File_read_ordered_end(file, b(20:1:-3, 4:1:-2), status)
    end select
    call MPI_Get_count(status, MPI_INTEGER, got)
    call expect(got == n, "elements read")
    call expect(all([b(20:2:-3, 4), b(20:5:-3, 2)] == first(n, pack(a(1:20:2, :), .true.))), "what was read")
    call expect(count(b == untouched) == 80 - n, "beside what was read")
    call MPI_File_close(file)
  end do

  ! In the representation that all systems share.
  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
  call MPI_File_set_view(file, at, MPI_INTEGER, MPI_INTEGER, "external32", MPI_INFO_NULL)
  call MPI_File_write(file, a(1:20:2, :), n, MPI_INTEGER, status)
  call MPI_File_seek(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
  b = untouched
  call MPI_File_read(file, b(20:1:-3, 4:1:-2), n, MPI_INTEGER, status)
  call expect(all([b(20:2:-3, 4), b(20:5:-3, 2)] == first(n, pack(a(1:20:2, :), .true.))), "external32")
  call MPI_File_close(file)
  call MPI_Finalize()
contains
  pure function first(n, x)
    integer, intent(in) :: n, x(:)
    integer :: first(n)
    first = x(1:n)
  end function

  subroutine expect(true, what)
    logical, intent(in) :: true
    character(*), intent(in) :: what
    if (true) return
    print *, "rank", rank, "way", way, ": ", what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
