! Fortran with mpif.h: every argument is an address.
module sums
  integer(8) :: total = 0
  integer :: rank, ranks, module_comm
contains
  subroutine add(values, n)
    integer, intent(in) :: n, values(n)
    integer :: i
    do i = 1, n
      total = ieor(total, int(values(i), 8)) * 31 + 1
    end do
  end subroutine
  subroutine fill(values, n, root, round)
    integer, intent(in) :: n, root, round
    integer, intent(out) :: values(n)
    integer :: i
    do i = 1, n
      values(i) = merge(round * 1000 + i, -1, rank == root)
    end do
  end subroutine
  subroutine say()
    include 'mpif.h'
    integer(8) :: all(ranks)
    integer :: ierr, i
    call MPI_Gather(total, 1, MPI_INTEGER8, all, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      if (rank == 0) print '(i0,": ",z16.16)', i - 1, all(i)
    end do
  end subroutine
end module

subroutine constants(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, buffer(8)
  do i = 1, 6
    call fill(buffer, 8, 0, i)
    call MPI_Bcast(buffer, 8, MPI_INTEGER, 0, comm, ierr) ! hoist: must
    call add(buffer, 8)
  end do
end subroutine

subroutine variables(comm, n)
  use sums
  include 'mpif.h'
  integer :: comm, n, ierr, i, root, buffer(n)
  root = ranks - 1
  do i = 1, 6
    call fill(buffer, n, root, i)
    call MPI_Bcast(buffer, n, MPI_INTEGER, root, comm, ierr) ! hoist: must
    call add(buffer, n)
  end do
end subroutine

subroutine zero_trips(comm, n)
  use sums
  include 'mpif.h'
  integer :: comm, n, ierr, i, buffer(8)
  do i = 1, n
    call MPI_Bcast(buffer, 8, MPI_INTEGER, 0, comm, ierr) ! hoist: must
  end do
end subroutine

subroutine root_changes(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, buffer(8)
  do i = 0, 5
    call fill(buffer, 8, mod(i, ranks), i)
    call MPI_Bcast(buffer, 8, MPI_INTEGER, mod(i, ranks), comm, ierr) ! hoist: never
    call add(buffer, 8)
  end do
end subroutine

subroutine count_changes(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, buffer(8)
  do i = 1, 6
    call fill(buffer, 8, 0, i)
    call MPI_Bcast(buffer, i, MPI_INTEGER, 0, comm, ierr) ! hoist: never
    call add(buffer, i)
  end do
end subroutine

subroutine count_is_received(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, n, buffer(8)
  n = 0
  do i = 1, 6
    if (rank == 0) n = i
    call MPI_Bcast(n, 1, MPI_INTEGER, 0, comm, ierr) ! hoist: must
    call fill(buffer, 8, 0, i)
    call MPI_Bcast(buffer, n, MPI_INTEGER, 0, comm, ierr) ! hoist: never
    call add(buffer, n)
  end do
end subroutine

subroutine leaves(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, k, buffer(8)
  outer: do i = 1, 6
    do k = 1, 3
      call fill(buffer, 8, 0, i)
      call MPI_Bcast(buffer, 8, MPI_INTEGER, 0, comm, ierr) ! hoist: must
      call add(buffer, 8)
      if (buffer(1) == 4001) exit outer
      if (ierr /= 0) return
    end do
  end do outer
end subroutine

subroutine of_module()
  use sums
  include 'mpif.h'
  integer :: ierr, i, buffer(8)
  do i = 1, 6
    buffer = merge(i, -1, rank == 0)
    call MPI_Bcast(buffer, 8, MPI_INTEGER, 0, module_comm, ierr) ! hoist: must
    total = total + sum(buffer)
  end do
end subroutine

subroutine scattered(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, r, counts(ranks), displs(ranks), mine(4), all(4 * ranks)
  do r = 1, ranks
    counts(r) = mod(r, 3) + 1
    displs(r) = (r - 1) * 4
  end do
  r = counts(rank + 1)
  do i = 1, 6
    call fill(all, 4 * ranks, 0, i)
    call MPI_Scatterv(all, counts, displs, MPI_INTEGER, mine, r, MPI_INTEGER, 0, comm, ierr) ! hoist: must
    call add(mine, r)
    call MPI_Scatter(all, 4, MPI_INTEGER, mine, 4, MPI_INTEGER, 0, comm, ierr) ! hoist: must
    call add(mine, 4)
  end do
  do i = 1, 3
    call fill(mine, r, rank, i)
    all = 0
    call MPI_Allgatherv(mine, r, MPI_INTEGER, all, counts, displs, MPI_INTEGER, comm, ierr) ! hoist: must
    call add(all, 4 * ranks)
  end do
end subroutine

subroutine in_place(comm)
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, r, counts(ranks), displs(ranks), all(2 * ranks)
  do r = 1, ranks
    counts(r) = 2
    displs(r) = (r - 1) * 2
  end do
  do i = 1, 3
    all = -1
    all(2 * rank + 1) = i
    all(2 * rank + 2) = rank
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, all, counts, displs, MPI_INTEGER, comm, ierr) ! hoist: must
    call add(all, 2 * ranks)
  end do
end subroutine

subroutine made_in_the_loop()
  use sums
  include 'mpif.h'
  integer :: comm, ierr, i, buffer(8)
  do i = 1, 3
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call fill(buffer, 8, 0, i)
    call MPI_Bcast(buffer, 8, MPI_INTEGER, 0, comm, ierr) ! hoist: never
    call MPI_Comm_free(comm, ierr)
    call add(buffer, 8)
  end do
end subroutine

program old
  use sums
  include 'mpif.h'
  integer :: ierr, comm
  call zero_trips(99, 0)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  module_comm = comm
  call zero_trips(MPI_COMM_NULL, 0)
  call constants(comm)
  call variables(comm, 7)
  call root_changes(comm)
  call count_changes(comm)
  call count_is_received(comm)
  call leaves(comm)
  call of_module()
  call scattered(comm)
  call in_place(comm)
  call made_in_the_loop()
  call say()
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program
