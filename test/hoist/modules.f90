! Fortran with the module mpi.
program modules
  use mpi
  implicit none
  integer :: ierr, comm, rank, ranks, i, n, buffer(8)
  integer, allocatable :: counts(:), displs(:), all(:), types(:), from(:)
  integer(8) :: total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  total = 0
  n = 5
  do i = 1, 6
    buffer = merge(i, -1, rank == 0)
    call MPI_Bcast(buffer, n, MPI_INTEGER, 0, comm, ierr) ! hoist: must
    total = total * 31 + sum(buffer(1:5))
  end do
  do i = 1, 6
    buffer = merge(i, -1, rank == 0)
    call MPI_Bcast(buffer, 8, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr) ! hoist: must
    total = total * 31 + sum(buffer)
    call MPI_Barrier(comm, ierr)
  end do
  i = 0
  do while (i < 5)
    i = i + 1
    n = i
    buffer = merge(i, -1, rank == 0)
    call MPI_Bcast(buffer, n, MPI_INTEGER, 0, comm, ierr) ! hoist: never
    total = total * 31 + sum(buffer(1:n))
  end do
  allocate (counts(ranks), displs(ranks), all(2 * ranks), types(ranks), from(2 * ranks))
  counts = 2
  types = MPI_INTEGER
  displs = [(8 * i, i=0, ranks - 1)]
  do i = 1, 4
    from = rank + i
    all = 0
    call MPI_Alltoallw(from, counts, displs, types, all, counts, displs, types, comm, ierr) ! hoist: may
    total = total * 31 + sum(all)
  end do
  displs = displs / 4
  do i = 1, 4
    from = merge([(i * n, n=1, 2 * ranks)], 0, rank == 0)
    call MPI_Scatterv(from, counts, displs, MPI_INTEGER, buffer, 2, MPI_INTEGER, 0, comm, ierr) ! hoist: may
    total = total * 31 + sum(buffer(1:2))
  end do
  print_all: block
    integer(8) :: totals(ranks)
    call MPI_Gather(total, 1, MPI_INTEGER8, totals, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) print '(i0)', totals
  end block print_all
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program
