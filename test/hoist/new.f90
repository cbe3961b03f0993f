! Fortran with the module mpi_f08: handles are derived types, buffers descriptors.
program new
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  integer :: rank, ranks, i, n, buffer(8)
  integer, allocatable :: counts(:), displs(:), all(:), from(:)
  integer(8) :: total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  total = 0
  n = 5
  do i = 1, 6
    buffer = merge(i, -1, rank == 0)
    call MPI_Bcast(buffer, n, MPI_INTEGER, 0, comm) ! hoist: must
    total = total * 31 + sum(buffer(1:5))
  end do
  do i = 1, 6
    buffer = merge(i, -1, rank == ranks - 1)
    call MPI_Bcast(buffer(1:8:2), 4, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD) ! hoist: must
    total = total * 31 + sum(buffer(1:8:2))
  end do
  do i = 1, 6
    buffer = merge(i, -1, rank == mod(i, ranks))
    call MPI_Bcast(buffer, 8, MPI_INTEGER, mod(i, ranks), comm) ! hoist: never
    total = total * 31 + sum(buffer)
  end do
  allocate (counts(ranks), displs(ranks), all(2 * ranks), from(2 * ranks))
  counts = 2
  displs = [(2 * i, i=0, ranks - 1)]
  do i = 1, 4
    from = merge([(i * n, n=1, 2 * ranks)], 0, rank == 0)
    call MPI_Scatterv(from, counts, displs, MPI_INTEGER, buffer, 2, MPI_INTEGER, 0, comm) ! hoist: may
    total = total * 31 + sum(buffer(1:2))
    call MPI_Scatter(from, 2, MPI_INTEGER, buffer, 2, MPI_INTEGER, 0, comm) ! hoist: must
    total = total * 31 + sum(buffer(1:2))
    call MPI_Allgatherv(buffer, 2, MPI_INTEGER, all, counts, displs, MPI_INTEGER, comm) ! hoist: may
    total = total * 31 + sum(all)
  end do
  block
    integer(8) :: totals(ranks)
    call MPI_Gather(total, 1, MPI_INTEGER8, totals, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(i0)', totals
  end block
  call MPI_Comm_free(comm)
  call MPI_Finalize()
end program
