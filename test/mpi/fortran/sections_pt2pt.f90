! Array sections as buffers of point-to-point communication in mpi_f08 (MPI-4.0 section 19.1.12): a count and a datatype refer
! to the elements of the section, one behind the other. Each way to send goes around a ring; what is received is compared
! element by element, and so is what must not be touched.
module ways
  use mpi_f08
  implicit none
  integer, parameter :: last_way = 16
  integer :: rank, size, to, from
  character, allocatable :: attached(:)
contains
  ! Sends to the next rank, receives from the previous one. The arguments are passed on as the descriptors that they are.
  subroutine ring(way, send, scount, stype, recv, rcount, rtype)
    integer, intent(in) :: way, scount, rcount
    type(*), dimension(..), asynchronous, intent(in) :: send
    type(*), dimension(..), asynchronous :: recv
    type(MPI_Datatype), intent(in) :: stype, rtype
    type(MPI_Request) :: requests(2)
    type(MPI_Message) :: message
    type(MPI_Status) :: status
    integer :: i, n
    requests = MPI_REQUEST_NULL
    select case (way)
    case (1)
      call MPI_Sendrecv(send, scount, stype, to, way, recv, rcount, rtype, from, way, MPI_COMM_WORLD, status)
    case (2)
      call MPI_Isendrecv(send, scount, stype, to, way, recv, rcount, rtype, from, way, MPI_COMM_WORLD, requests(1))
    case (3)
      call MPI_Irecv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, requests(1))
      call MPI_Send(send, scount, stype, to, way, MPI_COMM_WORLD)
    case (4)
      call MPI_Isend(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      call MPI_Recv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, status)
      call MPI_Get_count(status, rtype, n)
      if (n /= rcount) call fail("MPI_Get_count", n)
    case (5)
      call MPI_Irecv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, requests(1))
      call MPI_Ssend(send, scount, stype, to, way, MPI_COMM_WORLD)
    case (6)
      call MPI_Issend(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      call MPI_Recv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    case (7)
      call MPI_Bsend(send, scount, stype, to, way, MPI_COMM_WORLD)
      call MPI_Recv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, status)
    case (8)
      call MPI_Ibsend(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      call MPI_Recv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, status)
    case (9)
      call MPI_Irecv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, requests(1))
      call MPI_Barrier(MPI_COMM_WORLD)
      call MPI_Rsend(send, scount, stype, to, way, MPI_COMM_WORLD)
    case (10)
      call MPI_Irecv(recv, rcount, rtype, from, way, MPI_COMM_WORLD, requests(1))
      call MPI_Barrier(MPI_COMM_WORLD)
      call MPI_Irsend(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
    case (11)
      call MPI_Isend(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      call MPI_Mprobe(from, way, MPI_COMM_WORLD, message, status)
      call MPI_Mrecv(recv, rcount, rtype, message, status)
    case (12)
      call MPI_Isend(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      call MPI_Mprobe(from, way, MPI_COMM_WORLD, message, status)
      call MPI_Imrecv(recv, rcount, rtype, message, requests(1))
    case (13, 14, 15, 16)
      call MPI_Recv_init(recv, rcount, rtype, from, way, MPI_COMM_WORLD, requests(1))
      if (way == 13) call MPI_Send_init(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      if (way == 14) call MPI_Ssend_init(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      if (way == 15) call MPI_Bsend_init(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      if (way == 16) call MPI_Rsend_init(send, scount, stype, to, way, MPI_COMM_WORLD, requests(2))
      do i = 1, 3
        call MPI_Start(requests(1))
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Start(requests(2))
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      end do
      call MPI_Request_free(requests(1))
      call MPI_Request_free(requests(2))
    end select
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end subroutine

  ! The same with large counts.
  subroutine ring_large(send, scount, stype, recv, rcount, rtype)
    integer(MPI_COUNT_KIND), intent(in) :: scount, rcount
    type(*), dimension(..), asynchronous, intent(in) :: send
    type(*), dimension(..), asynchronous :: recv
    type(MPI_Datatype), intent(in) :: stype, rtype
    type(MPI_Request) :: request
    call MPI_Isend(send, scount, stype, to, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(recv, rcount, rtype, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  subroutine fail(what, value)
    character(*), intent(in) :: what
    integer, intent(in) :: value
    print *, "rank", rank, ": ", what, value
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end module

program sections_pt2pt
  use, intrinsic :: iso_c_binding, only: c_ptr
  use ways
  implicit none
  type :: record
    sequence
    integer :: i
    real(8) :: x
    integer :: j
  end type
  integer, parameter :: untouched = -7
  integer :: a(20, 4), b(20, 4), c(5, 4, 6), d(5, 4, 6), way, i, k
  type(c_ptr) :: where_was
  type(record) :: s(10), t(10)
  character(5) :: u(9), v(9)
  complex(8) :: y(9), z(9)
  type(MPI_Datatype) :: gaps, a_record

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  to = modulo(rank + 1, size)
  from = modulo(rank - 1, size)
  allocate (attached(100000))
  call MPI_Buffer_attach(attached, 100000)
  call MPI_Type_vector(3, 2, 4, MPI_INTEGER, gaps)
  call MPI_Type_commit(gaps)
  call make_record()

  ! What rank r sends is what this rank sends, plus 1000 for each rank between.
  a = reshape([(1000 * rank + i, i=1, 80)], [20, 4])
  c = reshape([(1000 * rank + i, i=1, 120)], [5, 4, 6])
  s = [(record(1000 * rank + i, 1000d0 * rank + i / 8d0, i - 1000 * rank), i=1, 10)]
  u = [(achar(97 + modulo(rank, 20)) // achar(64 + i) // "xyz", i=1, 9)]
  y = [(cmplx(1000d0 * rank + i, -i, 8), i=1, 9)]

  do way = 1, last_way
    b = untouched
    call ring(way, a(1:20:2, :), 40, MPI_INTEGER, b(2:20:2, :), 40, MPI_INTEGER)
    call same(pack(b(2:20:2, :), .true.), pack(a(1:20:2, :), .true.), 80, "all of a section")

    b = untouched
    call ring(way, a(1:20:2, :), 13, MPI_INTEGER, b(20:1:-3, 4:1:-2), 13, MPI_INTEGER)
    call same(first(13, pack(b(20:1:-3, 4:1:-2), .true.)), first(13, pack(a(1:20:2, :), .true.)), 80, "the first 13")

    d = untouched
    call ring(way, c(1:5:2, :, 2:6:2), 36, MPI_INTEGER, d(5:1:-2, 4:1:-1, 6:2:-2), 36, MPI_INTEGER)
    call same(pack(d(5:1:-2, 4:1:-1, 6:2:-2), .true.), pack(c(1:5:2, :, 2:6:2), .true.), 120, "three dimensions")
    d = untouched
    call ring(way, c(1:5:2, :, 2:6:2), 17, MPI_INTEGER, d(:, 2:3, :), 17, MPI_INTEGER)
    call same(first(17, pack(d(:, 2:3, :), .true.)), first(17, pack(c(1:5:2, :, 2:6:2), .true.)), 120, "17 of them")

    ! A section on one side only.
    b = untouched
    call ring(way, a(3:3, :), 4, MPI_INTEGER, b, 4, MPI_INTEGER)
    call same(b(1:4, 1), a(3, :), 80, "from a section")
    b = untouched
    call ring(way, a, 4, MPI_INTEGER, b(3, :), 4, MPI_INTEGER)
    call same(b(3, :), a(1:4, 1), 80, "into a section")

    ! A derived datatype over a section: the elements 1, 2, 5, 6, 9, 10 of each 10.
    b = untouched
    call ring(way, a(1:20:2, :), 2, gaps, b(2:20:2, :), 12, MPI_INTEGER)
    call same(first(12, pack(b(2:20:2, :), .true.)), [a(1:3:2, 1), a(9:11:2, 1), a(17:19:2, 1), a(1:3:2, 2), &
              a(9:11:2, 2), a(17:19:2, 2)], 80, "from gaps")
    b = untouched
    call ring(way, a(1:20:2, :), 12, MPI_INTEGER, b(2:20:2, :), 2, gaps)
    call same([b(2:4:2, 1), b(10:12:2, 1), b(18:20:2, 1), b(2:4:2, 2), b(10:12:2, 2), b(18:20:2, 2)], &
              first(12, pack(a(1:20:2, :), .true.)), 80, "into gaps")

    ! Pairs of elements as one of twice the size.
    b = untouched
    call ring(way, a(1:20:2, :), 7, MPI_DOUBLE_PRECISION, b(2:20:2, :), 7, MPI_DOUBLE_PRECISION)
    call same(first(14, pack(b(2:20:2, :), .true.)), first(14, pack(a(1:20:2, :), .true.)), 80, "pairs")

    ! No elements.
    b = untouched
    call ring(way, a(3:2, :), 0, MPI_INTEGER, b(1:20:2, 3:2), 0, MPI_INTEGER)
    call same(b(1:0, 1), a(1:0, 1), 80, "nothing")

    ! Elements of a derived type, of characters, of complex numbers by their parts.
    t = record(untouched, untouched, untouched)
    call ring(way, s(1:9:3), 3, a_record, t(10:2:-4), 3, a_record)
    call same(t(10:2:-4)%i, s(1:9:3)%i, 10, "records", t%i)
    if (any(t(10:2:-4)%x /= s(1:9:3)%x + 1000 * (from - rank))) call fail("records%x", way)
    if (any(t(10:2:-4)%j /= s(1:9:3)%j - 1000 * (from - rank))) call fail("records%j", way)
    v = "-----"
    call ring(way, u(1:9:2), 22, MPI_CHARACTER, v(9:1:-2), 22, MPI_CHARACTER)
    do i = 1, 4
      if (v(11 - 2 * i) /= achar(97 + modulo(from, 20)) // u(2 * i - 1)(2:5)) call fail("characters", i)
      if (v(10 - 2 * i) /= "-----") call fail("untouched characters", i)
    end do
    if (v(1) /= achar(97 + modulo(from, 20)) // u(9)(2:2) // "---") call fail("the last characters", way)
    z = untouched
    call ring(way, y(1:9:2), 7, MPI_DOUBLE_PRECISION, z(2:9:2), 7, MPI_DOUBLE_PRECISION)
    if (any(z(2:6:2) /= y(1:5:2) + 1000 * (from - rank))) call fail("complex", way)
    if (z(8) /= cmplx(y(7)%re + 1000 * (from - rank), 0, 8)) call fail("a real part", way)
    if (any(z(1:9:2) /= untouched)) call fail("untouched complex", way)

    ! The elements of a section of a dummy argument.
    b = untouched
    call through(way, a(1:19:2, 4:1:-1), b(2:20:2, :))
  end do

  b = untouched
  call ring_large(a(1:20:2, :), 13_MPI_COUNT_KIND, MPI_INTEGER, b(2:20:2, :), 13_MPI_COUNT_KIND, MPI_INTEGER)
  call same(first(13, pack(b(2:20:2, :), .true.)), first(13, pack(a(1:20:2, :), .true.)), 80, "large count")

  ! The buffer of both ways.
  do way = 1, 2
    b = a
    if (way == 1) then
      call MPI_Sendrecv_replace(b(1:20:2, :), 11, MPI_INTEGER, to, 3, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else
      block
        type(MPI_Request) :: request
        call MPI_Isendrecv_replace(b(1:20:2, :), 11, MPI_INTEGER, to, 3, from, 3, MPI_COMM_WORLD, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      end block
    end if
    call same([b(1:20:2, 1), b(1, 2)], [a(1:20:2, 1), a(1, 2)], 0, "replaced")
    if (any(b(2:20:2, :) /= a(2:20:2, :)) .or. any(b(3:20, 2:4) /= a(3:20, 2:4))) call fail("beside what was replaced", way)
  end do

  ! A message that is shorter than the buffer.
  b = untouched
  call ring(3, a(1:20:2, :), 5, MPI_INTEGER, b(2:20:2, :), 40, MPI_INTEGER)
  call same(b(2:10:2, 1), a(1:9:2, 1), 80, "short")

  ! More elements than the section has are an error of the call.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(a(1:20:2, :), 41, MPI_INTEGER, to, 9, MPI_COMM_WORLD, i)
  call MPI_Error_class(i, k)
  if (k /= MPI_ERR_BUFFER) call fail("class of an error, with 41 of 40 elements", k)
  call MPI_Send(a(1:20:2, :), -1, MPI_INTEGER, to, 9, MPI_COMM_WORLD, i)
  call MPI_Error_class(i, k)
  if (k /= MPI_ERR_COUNT) call fail("class of an error, with -1 elements", k)

  call MPI_Type_free(gaps)
  call MPI_Type_free(a_record)
  call MPI_Buffer_detach(where_was, i)
  call MPI_Finalize()
contains
  subroutine make_record()
    integer(MPI_ADDRESS_KIND) :: places(4)
    type(MPI_Datatype) :: parts
    call MPI_Get_address(s(1)%i, places(1))
    call MPI_Get_address(s(1)%x, places(2))
    call MPI_Get_address(s(1)%j, places(3))
    call MPI_Get_address(s(2)%i, places(4))
    places = places - places(1)
    call MPI_Type_create_struct(3, [1, 1, 1], places(1:3), [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_INTEGER], parts)
    call MPI_Type_create_resized(parts, 0_MPI_ADDRESS_KIND, places(4), a_record)
    call MPI_Type_commit(a_record)
    call MPI_Type_free(parts)
  end subroutine

  subroutine through(way, x, y)
    integer, intent(in) :: way, x(:, :)
    integer :: y(:, :)
    call ring(way, x(1:10:3, 2:4), 10, MPI_INTEGER, y(2:10:2, ::2), 10, MPI_INTEGER)
    call same(pack(y(2:10:2, ::2), .true.), first(10, pack(x(1:10:3, 2:4), .true.)), 80, "through a dummy argument")
  end subroutine

  pure function first(n, x)
    integer, intent(in) :: n, x(:)
    integer :: first(n)
    first = x(1:n)
  end function

  ! What the previous rank has sent; all other elements of an array with so many are untouched.
  subroutine same(received, sent, total, what, all_received)
    integer, intent(in) :: received(:), sent(:), total
    character(*), intent(in) :: what
    integer, intent(in), optional :: all_received(:)
    if (any(received /= sent + 1000 * (from - rank))) then
      print *, "received", received, "expected", sent + 1000 * (from - rank)
      call fail(what, way)
    end if
    if (present(all_received)) then
      i = count(all_received == untouched)
    else if (total == 80) then
      i = count(b == untouched)
    else
      i = count(d == untouched)
    end if
    if (total > 0 .and. i /= total - ubound(received, 1)) call fail(what // ": touched, too", way)
  end subroutine
end program
