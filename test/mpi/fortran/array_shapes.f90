! Calls with choice buffers take scalars for arrays of counts, displacements and datatypes, as MPICH's module mpi does: where they
! are not significant, and where a communicator has one rank. They take matrices, too.
program array_shapes
  use mpi
  implicit none
  integer :: rank, n, ierr, i, request, mine(2), got(2), zero(1, 1), one(1, 1)
  integer, allocatable :: counts(:), displs(:), types(:), all(:), expected(:)
  zero = 0
  one = 1
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  allocate(counts(n), displs(n), types(n), all(n))
  counts = 1
  displs = [(i, i = 0, n - 1)]
  expected = [(10 * i, i = 0, n - 1)]
  mine = [10 * rank, 7]

  ! Not significant: at ranks that are not the root, and with MPI_IN_PLACE.
  all = -1
  if (rank == 0) then
    call MPI_Gatherv(mine, 1, MPI_INTEGER, all, counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call check(all, expected, 'MPI_Gatherv')
    call MPI_Scatterv(all, counts, displs, MPI_INTEGER, got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Gatherv(mine, 1, MPI_INTEGER, MPI_BOTTOM, 0, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call MPI_Scatterv(MPI_BOTTOM, 0, 0, MPI_INTEGER, got, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  end if
  call check(got(1:1), mine(1:1), 'MPI_Scatterv')
  all = rank
  call MPI_Alltoallv(MPI_IN_PLACE, 0, 0, MPI_INTEGER, all, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call check(10 * all, expected, 'MPI_Alltoallv')
  all = rank
  types = MPI_INTEGER
  call MPI_Ialltoallw(MPI_IN_PLACE, 0, 0, MPI_DATATYPE_NULL, all, counts, 4 * displs, types, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call check(10 * all, expected, 'MPI_Ialltoallw')

  ! One rank.
  got = 0
  call MPI_Allgatherv(mine, 1, MPI_INTEGER, got, 1, 1, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call check(got, [0, mine(1)], 'MPI_Allgatherv')
  call MPI_Alltoallv(mine, 1, 1, MPI_INTEGER, got, 1, 0, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call check(got, [7, mine(1)], 'MPI_Alltoallv of scalars')
  call MPI_Alltoallw(mine, 1, 0, MPI_INTEGER, got, 1, 4, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call check(got, [7, mine(1)], 'MPI_Alltoallw of scalars')
  call MPI_Reduce_scatter(mine, got, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, ierr)
  call check(got, mine, 'MPI_Reduce_scatter')
  got = 0
  call MPI_Allgatherv(mine, 1, MPI_INTEGER, got, one, zero, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call check(got, [mine(1), 0], 'MPI_Allgatherv of matrices')
  call MPI_Alltoallv(mine, one, one, MPI_INTEGER, got, one, zero, MPI_INTEGER, MPI_COMM_SELF, ierr)
  call check(got, [7, 0], 'MPI_Alltoallv of matrices')
  ! An element stands for the array that begins there.
  call MPI_Allgatherv(mine, 1, MPI_INTEGER, all, counts(1), displs(1), MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call check(all, expected, 'MPI_Allgatherv of elements')

  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a)', ' No Errors'
  call MPI_Finalize(ierr)

contains

  subroutine check(values, wanted, what)
    integer, intent(in) :: values(:), wanted(:)
    character(*), intent(in) :: what
    integer :: ignored
    if (all_equal(values, wanted)) return
    print '(a,a,i0,a,*(1x,i0))', what, ': rank ', rank, ' got', values
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine

  logical function all_equal(values, wanted)
    integer, intent(in) :: values(:), wanted(:)
    integer :: k
    all_equal = size(values) == size(wanted)
    do k = 1, size(values)
      all_equal = all_equal .and. values(k) == wanted(k)
    end do
  end function
end program
