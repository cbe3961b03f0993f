! MPI_Waitany, MPI_Testany, MPI_Waitsome and MPI_Testsome of the module mpi: indices count from 1, and without an active request
! they are MPI_UNDEFINED. Also by their PMPI_ names, with and without statuses.
program indices_module
  use mpi
  implicit none
  integer, parameter :: n = 5
  integer :: requests(n)
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, n), error
  integer :: values(n), indices(n), rank, size, i, k, index, outcount, done
  logical :: flag, last, seen(n)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)

  ! One after the other: the message with tag i is for requests(i).
  do k = 1, 6
    call post()
    seen = .false.
    do i = n, 1, -1
      call MPI_Send(100 * i + rank, 1, MPI_INTEGER, modulo(rank + 1, size), i, MPI_COMM_WORLD, error)
      index = -77
      flag = .false.
      select case (k)
      case (1)
        call MPI_Waitany(n, requests, index, status, error)
      case (2)
        call MPI_Waitany(n, requests, index, MPI_STATUS_IGNORE, error)
      case (3)
        call PMPI_Waitany(n, requests, index, status, error)
      case (4)
        do while (.not. flag)
          call MPI_Testany(n, requests, index, flag, status, error)
          if (.not. flag) call expect(index == MPI_UNDEFINED, "testany without flag", index)
        end do
      case (5)
        do while (.not. flag)
          call MPI_Testany(n, requests, index, flag, MPI_STATUS_IGNORE, error)
        end do
      case (6)
        do while (.not. flag)
          call PMPI_Testany(n, requests, index, flag, status, error)
        end do
      end select
      call expect(index >= 1 .and. index <= n, "any", index)
      call expect(.not. seen(index), "twice", index)
      seen(index) = .true.
      call expect(values(index) == 100 * index + modulo(rank - 1 + size, size), "value", values(index))
      if (k /= 2 .and. k /= 5) call expect(status(MPI_TAG) == index, "tag", status(MPI_TAG))
      call expect(requests(index) == MPI_REQUEST_NULL, "request", index)
    end do
    call none()
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do

  ! Several at once.
  do k = 1, 6
    call post()
    do i = 1, n
      if (i /= 3) call MPI_Send(100 * i + rank, 1, MPI_INTEGER, modulo(rank + 1, size), i, MPI_COMM_WORLD, error)
    end do
    done = 0
    last = .true.
    seen = .false.
    do while (done < n)
      select case (k)
      case (1)
        call MPI_Waitsome(n, requests, outcount, indices, statuses, error)
      case (2)
        call MPI_Waitsome(n, requests, outcount, indices, MPI_STATUSES_IGNORE, error)
      case (3)
        call PMPI_Waitsome(n, requests, outcount, indices, statuses, error)
      case (4)
        call MPI_Testsome(n, requests, outcount, indices, statuses, error)
      case (5)
        call MPI_Testsome(n, requests, outcount, indices, MPI_STATUSES_IGNORE, error)
      case (6)
        call PMPI_Testsome(n, requests, outcount, indices, statuses, error)
      end select
      if (k <= 3) call expect(outcount >= 1, "waitsome's outcount", outcount)
      do i = 1, outcount
        index = indices(i)
        call expect(index >= 1 .and. index <= n, "some", index)
        call expect(.not. seen(index), "twice", index)
        seen(index) = .true.
        call expect(values(index) == 100 * index + modulo(rank - 1 + size, size), "value", values(index))
        if (k /= 2 .and. k /= 5) call expect(statuses(MPI_TAG, i) == index, "tag", statuses(MPI_TAG, i))
      end do
      done = done + outcount
      if (done >= n - 1 .and. last) then
        call MPI_Send(300 + rank, 1, MPI_INTEGER, modulo(rank + 1, size), 3, MPI_COMM_WORLD, error)
        last = .false.
      end if
    end do
    call none()
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
contains
  subroutine post()
    integer :: j
    values = 0
    do j = 1, n
      call MPI_Irecv(values(j), 1, MPI_INTEGER, modulo(rank - 1 + size, size), j, MPI_COMM_WORLD, requests(j), error)
    end do
  end subroutine

  ! Null requests, and no requests.
  subroutine none()
    integer :: m
    do m = n, 0, -n
      index = -77
      call MPI_Waitany(m, requests, index, status, error)
      call expect(index == MPI_UNDEFINED .and. error == MPI_SUCCESS, "waitany of none", index)
      call expect(status(MPI_SOURCE) == MPI_ANY_SOURCE .and. status(MPI_TAG) == MPI_ANY_TAG, "empty status", status(MPI_TAG))
      index = -77
      flag = .false.
      call MPI_Testany(m, requests, index, flag, MPI_STATUS_IGNORE, error)
      call expect(index == MPI_UNDEFINED .and. flag, "testany of none", index)
      outcount = -77
      call MPI_Waitsome(m, requests, outcount, indices, MPI_STATUSES_IGNORE, error)
      call expect(outcount == MPI_UNDEFINED, "waitsome of none", outcount)
      outcount = -77
      call MPI_Testsome(m, requests, outcount, indices, statuses, error)
      call expect(outcount == MPI_UNDEFINED, "testsome of none", outcount)
    end do
  end subroutine

  subroutine expect(true, what, value)
    logical, intent(in) :: true
    character(*), intent(in) :: what
    integer, intent(in) :: value
    if (true) return
    print *, "rank", rank, "case", k, ": ", what, value
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine
end program
