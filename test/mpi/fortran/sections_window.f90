! Array sections as buffers of one-sided communication, of packing and of partitioned communication in mpi_f08. What arrives is
! compared element by element, and so is what must not be touched. Memory that MPI keeps must be contiguous.
program sections_window
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  integer, parameter :: untouched = -7, n = 60
  integer :: a(20, 4), b(20, 4), rank, size, to, way, i, position, code, class
  integer, asynchronous, pointer :: memory(:)
  integer(MPI_ADDRESS_KIND) :: bytes
  integer(MPI_COUNT_KIND) :: parts
  character :: packed(400)
  type(c_ptr) :: at
  type(MPI_Win) :: win, other
  type(MPI_Request) :: request, requests(2)
  type(MPI_Datatype) :: gaps

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  to = modulo(rank + 1, size)
  call MPI_Type_vector(3, 2, 4, MPI_INTEGER, gaps)
  call MPI_Type_commit(gaps)
  bytes = 4 * n
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, at, win)
  call c_f_pointer(at, memory, [n])
  a = reshape([(1000 * rank + i, i=1, 80)], [20, 4])

  ! Elements go to the memory of the next rank.
  do way = 1, 8
    memory = untouched
    call MPI_Win_fence(0, win)
    select case (way)
    case (1)
      call MPI_Put(a(1:20:2, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, win)
    case (2)
      call MPI_Put(a(1:20:2, :), 13_MPI_COUNT_KIND, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13_MPI_COUNT_KIND, MPI_INTEGER, win)
    case (3)
      call MPI_Accumulate(a(1:20:2, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, MPI_REPLACE, win)
    case (4)
      call MPI_Accumulate(a(1:20:2, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, MPI_SUM, win)
    case (5)
      b = untouched
      call MPI_Get_accumulate(a(1:20:2, :), 13, MPI_INTEGER, b(2:20:3, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, &
                              MPI_INTEGER, MPI_SUM, win)
    case (6)
      call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
      call MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win)
      call MPI_Rput(a(1:20:2, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, win, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Win_unlock(to, win)
    case (7)
      call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
      call MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win)
      call MPI_Raccumulate(a(1:20:2, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, MPI_SUM, win, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Win_unlock(to, win)
    case (8)
      b = untouched
      call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
      call MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win)
      call MPI_Rget_accumulate(a(1:20:2, :), 13, MPI_INTEGER, b(2:20:3, :), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, &
                               MPI_INTEGER, MPI_SUM, win, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Win_unlock(to, win)
    end select
    call MPI_Win_fence(0, win)
    i = 0
    if (way == 4 .or. way == 5 .or. way >= 7) i = untouched
    call same(memory(6:18) - i, first(13, pack(a(1:20:2, :), .true.)) + 1000 * (modulo(rank - 1, size) - rank), "window")
    call expect(count(memory == untouched) == n - 13, "beside the window's elements")
    if (way == 5 .or. way == 8) then
      call expect(all(b == untouched), "fetched")
    end if
    call MPI_Win_fence(0, win)
  end do

  ! Elements come from the memory of the next rank.
  memory = [(10000 * rank + i, i=1, n)]
  call MPI_Win_fence(0, win)
  do way = 1, 3
    b = untouched
    call MPI_Win_fence(0, win)
    select case (way)
    case (1)
      call MPI_Get(b(20:1:-2, 4:1:-1), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, win)
    case (2)
      call MPI_Get(b(20:1:-2, 4:1:-1), 2, gaps, to, 5_MPI_ADDRESS_KIND, 12, MPI_INTEGER, win)
    case (3)
      call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
      call MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win)
      call MPI_Rget(b(20:1:-2, 4:1:-1), 13, MPI_INTEGER, to, 5_MPI_ADDRESS_KIND, 13, MPI_INTEGER, win, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Win_unlock(to, win)
    end select
    call MPI_Win_fence(0, win)
    if (way == 2) then
      call same([b(20:18:-2, 4), b(12:10:-2, 4), b(4:2:-2, 4), b(20:18:-2, 3), b(12:10:-2, 3), b(4:2:-2, 3)], &
                [(10000 * to + i, i=6, 17)], "gaps")
      call expect(count(b == untouched) == 80 - 12, "in the gaps")
    else
      call same([b(20:2:-2, 4), b(20:16:-2, 3)], [(10000 * to + i, i=6, 18)], "got")
      call expect(count(b == untouched) == 80 - 13, "beside what was got")
    end if
  end do
  b = untouched
  call MPI_Win_fence(0, win)
  call MPI_Fetch_and_op(a(1:20:2, 1), b(3:20:4, 2), MPI_INTEGER, to, 50_MPI_ADDRESS_KIND, MPI_SUM, win)
  call MPI_Win_fence(0, win)
  call expect(b(3, 2) == 10000 * to + 51 .and. count(b == untouched) == 79, "fetched by an operation")
  call MPI_Compare_and_swap(a(1:20:2, 1), b(3:20:4, 2), b(1:20:2, 4), MPI_INTEGER, to, 52_MPI_ADDRESS_KIND, win)
  call MPI_Win_fence(0, win)
  call expect(b(1, 4) == 10000 * to + 53 .and. count(b == untouched) == 78, "compared")
  call MPI_Win_free(win)

  ! Packed: the bytes of the section's elements.
  position = 3
  call MPI_Pack(a(1:20:2, :), 13, MPI_INTEGER, packed, 400, position, MPI_COMM_WORLD)
  call expect(position == 3 + 52, "position behind what was packed")
  call same(transfer(packed(4:55), [0]), first(13, pack(a(1:20:2, :), .true.)), "packed")
  b = untouched
  position = 3
  call MPI_Unpack(packed, 400, position, b(20:1:-2, 2:4:2), 13, MPI_INTEGER, MPI_COMM_WORLD)
  call same([b(20:2:-2, 2), b(20:16:-2, 4)], first(13, pack(a(1:20:2, :), .true.)), "unpacked")
  call expect(count(b == untouched) == 80 - 13, "beside what was unpacked")
  packed = "-"
  position = 0
  call MPI_Pack(a(1:20:2, :), 7, MPI_INTEGER, packed(1:400:3), 60, position, MPI_COMM_WORLD)
  call same(transfer(packed(1:82:3), [0]), first(7, pack(a(1:20:2, :), .true.)), "packed into a section")
  call expect(all(packed(2:400:3) == "-") .and. packed(85) == "-", "beside what was packed")
  bytes = 0
  call MPI_Pack_external("external32", a(1:20:2, :), 13, MPI_INTEGER, packed, 400_MPI_ADDRESS_KIND, bytes)
  b = untouched
  bytes = 0
  call MPI_Unpack_external("external32", packed, 400_MPI_ADDRESS_KIND, bytes, b(1:20:2, :), 13, MPI_INTEGER)
  call same(first(13, pack(b(1:20:2, :), .true.)), first(13, pack(a(1:20:2, :), .true.)), "external")
  b = a
  call MPI_Reduce_local(a(1:20:2, :), b(2:20:2, 4:1:-1), 13, MPI_INTEGER, MPI_MAX)
  call same(first(13, pack(b(2:20:2, 4:1:-1), .true.)), max(first(13, pack(a(1:20:2, :), .true.)), &
            first(13, pack(a(2:20:2, 4:1:-1), .true.))), "reduced")

  ! Partitions of 5 elements, two a column.
  do way = 1, 2
    b = untouched
    parts = 5
    call MPI_Precv_init(b(2:20:2, 3), 2, parts, MPI_INTEGER, modulo(rank - 1, size), 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Psend_init(a(1:20:2, 1), 2, parts, MPI_INTEGER, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    call MPI_Startall(2, requests)
    call MPI_Pready(1, requests(2))
    call MPI_Pready(0, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call same(b(2:20:2, 3), a(1:20:2, 1) + 1000 * (modulo(rank - 1, size) - rank), "partitions")
    call expect(count(b == untouched) == 70, "beside the partitions")
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end do
  ! Of whole columns.
  b = untouched
  parts = 20
  call MPI_Precv_init(b(2:20:2, :), 2, parts, MPI_INTEGER, modulo(rank - 1, size), 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
  call MPI_Psend_init(a(1:20:2, 4:1:-1), 2, parts, MPI_INTEGER, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
  call MPI_Startall(2, requests)
  call MPI_Pready_range(0, 1, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call same(pack(b(2:20:2, :), .true.), pack(a(1:20:2, 4:1:-1), .true.) + 1000 * (modulo(rank - 1, size) - rank), "columns")
  call expect(count(b == untouched) == 40, "beside the columns")
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))

  ! What cannot be: an error that says so.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  parts = 5
  call MPI_Psend_init(a(1:20:3, :), 4, parts, MPI_INTEGER, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, request, code)
  call refused("partitions that do not lie evenly")
  call MPI_Win_create(a(1:20:2, :), 80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, other, code)
  call refused("a window of a section")
  call MPI_Buffer_attach(a(1:20:2, :), 80, code)
  call refused("an attached section")
  call MPI_Reduce(a(1:20:2, :), b, 41, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_SELF, code)
  call refused("41 of 40 elements")
  ! As long as its elements lie one behind the other.
  call MPI_Win_create(b(:, 1:4:2), 80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, other)
  call MPI_Win_free(other)
  call MPI_Type_free(gaps)
  call MPI_Finalize()
contains
  pure function first(n, x)
    integer, intent(in) :: n, x(:)
    integer :: first(n)
    first = x(1:n)
  end function

  subroutine same(x, y, what)
    integer, intent(in) :: x(:), y(:)
    character(*), intent(in) :: what
    if (all(x == y)) return
    print *, "rank", rank, "way", way, ": ", what, ": ", x, " expected ", y
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine expect(true, what)
    logical, intent(in) :: true
    character(*), intent(in) :: what
    if (true) return
    print *, "rank", rank, "way", way, ": ", what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine refused(what)
    character(*), intent(in) :: what
    call MPI_Error_class(code, class)
    if (class == MPI_ERR_BUFFER) return
    print *, "rank", rank, ": ", what, ": class", class
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
