! Calls by the binding that HOST names (1: mpif.h, 2: mpi, 3: mpi_f08). Two lines make communicators, in turn; the ranks but the
! first wait in a reduction for most of the time.
program lines
#if HOST == 3
  use mpi_f08
#elif HOST == 2
  use mpi
#endif
  implicit none
#if HOST == 1
  include 'mpif.h'
#endif
#if HOST == 3
  type(MPI_Comm) :: made
#else
  integer :: made
#endif
  integer :: rank, error, i
  double precision :: value = 1, total, start
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 8
    call MPI_Comm_dup(MPI_COMM_WORLD, made, error)  ! first
    call MPI_Comm_free(made, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, made, error)  ! second
    start = MPI_Wtime()
    do while (rank == 0 .and. MPI_Wtime() - start < 0.02d0)
    end do
    call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, made, error)  ! waits
    call MPI_Comm_free(made, error)
  end do
  call MPI_Finalize(error)
end program
