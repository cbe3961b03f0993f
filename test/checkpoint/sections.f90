! Array sections whose elements are not neighbours, as buffers, in a job that can be saved: with communicators and types of the
! program's own, in blocking and nonblocking calls. Rank 0 lets rank 1 wait in a receive, where it cannot be saved, and calls MPI
! again and again meanwhile, so that checkpoints are begun, until there is a file with the name that is the program's argument.
program sections
  use mpi_f08
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c, name="usleep")
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  integer, parameter :: n = 1000
  integer, target :: values(2 * n), sums(3 * n), whole(n), pairs(4 * n)
  integer :: rank, size, i, bad, all, token
  logical :: flag, goes_on
  character(len=1000) :: go_file
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: pair
  type(MPI_Request) :: requests(2)
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, size)
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  bad = 0
  if (rank == 0) then
    call get_command_argument(1, go_file)
    goes_on = .false.
    do while (.not. goes_on)
      if (usleep(10000_c_int) /= 0) cycle
      call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, flag, MPI_STATUS_IGNORE)
      inquire(file=trim(go_file), exist=goes_on)
    end do
    do i = 1, n
      whole(i) = 7 * i
    end do
    if (size > 1) call MPI_Send(whole, n, MPI_INTEGER, 1, 3, comm)
    do i = 2, size - 1
      call MPI_Send(i, 1, MPI_INTEGER, i, 4, comm)
    end do
  else if (rank == 1) then
    values = -1
    call MPI_Recv(values(1:2 * n:2), n, MPI_INTEGER, 0, 3, comm, MPI_STATUS_IGNORE)
    do i = 1, n
      if (values(2 * i - 1) /= 7 * i .or. values(2 * i) /= -1) bad = bad + 1
    end do
  else
    ! These wait for no collective: rank 1 would have to leave its receive before a checkpoint then.
    call MPI_Recv(token, 1, MPI_INTEGER, 0, 4, comm, MPI_STATUS_IGNORE)
    if (token /= rank) bad = bad + 1
  end if
  values = rank
  if (rank == 0) values = [(i, i = 1, 2 * n)]
  call MPI_Ibcast(values(1:2 * n:2), n, MPI_INTEGER, 0, comm, requests(1))
  pairs = -1
  if (rank == 0) pairs = [(i, i = 1, 4 * n)]
  call MPI_Ibcast(pairs(1:4 * n:2), n, pair, 0, comm, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  do i = 1, n
    if (values(2 * i - 1) /= 2 * i - 1) bad = bad + 1
    if (rank /= 0 .and. values(2 * i) /= rank) bad = bad + 1
    if (pairs(4 * i - 3) /= 4 * i - 3 .or. pairs(4 * i - 1) /= 4 * i - 1) bad = bad + 1
    if (rank /= 0 .and. pairs(4 * i) /= -1) bad = bad + 1
  end do
  whole = rank + 1
  sums = 0
  call MPI_Allreduce(whole, sums(1:3 * n:3), n, MPI_INTEGER, MPI_SUM, comm)
  do i = 1, n
    if (sums(3 * i - 2) /= size * (size + 1) / 2 .or. sums(3 * i) /= 0) bad = bad + 1
  end do
  call MPI_Allreduce(bad, all, 1, MPI_INTEGER, MPI_SUM, comm)
  if (rank == 0 .and. all == 0) print '(a)', " No Errors"
  if (rank == 0 .and. all /= 0) print '(i0, a)', all, " wrong elements"
  call MPI_Type_free(pair)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
end program
