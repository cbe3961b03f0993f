! The heat equation on a ring in Fortran 2008: module variables of each rank's own, mpi_f08, nonblocking neighbours.
!
!   mpiexec -ranks 500 heat
!
! A sine wave decays by a known factor each step.
module rod
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: cells = 8
  real(real64) :: u(0:cells + 1)   ! 0 and cells + 1 are the neighbours'
contains
  subroutine step(r)
    real(real64), intent(in) :: r
    u(1:cells) = u(1:cells) + r * (u(0:cells - 1) - 2 * u(1:cells) + u(2:cells + 1))
  end subroutine
end module

program heat
  use mpi_f08
  use rod
  implicit none
  real(real64), parameter :: pi = acos(-1.0_real64), r = 0.25_real64
  integer, parameter :: steps = 200
  integer :: rank, size, left, right, i, s, n
  real(real64) :: factor, error, largest
  type(MPI_Request) :: requests(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  n = size * cells
  left = modulo(rank - 1, size)
  right = modulo(rank + 1, size)
  u(1:cells) = [(sin(2 * pi * (rank * cells + i) / n), i = 1, cells)]
  do s = 1, steps
    call MPI_Irecv(u(0), 1, MPI_REAL8, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(u(cells + 1), 1, MPI_REAL8, right, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(u(cells), 1, MPI_REAL8, right, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(u(1), 1, MPI_REAL8, left, 2, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call step(r)
  end do
  factor = (1 - 4 * r * sin(pi / n)**2)**steps
  error = 0
  do i = 1, cells
    error = max(error, abs(u(i) - factor * sin(2 * pi * (rank * cells + i) / n)))
  end do
  call MPI_Allreduce(error, largest, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0, a, es8.1, a)', n, ' cells on ', size, ' ranks: largest error', largest, &
    merge(': right', ': WRONG', largest < 1e-12_real64)
  call MPI_Finalize()
  if (largest >= 1e-12_real64) error stop 1
end program
