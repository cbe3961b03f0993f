! Internal procedures as arguments: the compiler writes the code that finds their host's variables onto the stack
! of the rank, which must be executable for it.
module appliers
  implicit none
contains
  subroutine apply(f, x)
    interface
      subroutine f(x)
        integer, intent(inout) :: x
      end subroutine
    end interface
    integer, intent(inout) :: x
    call f(x)
  end subroutine
  recursive subroutine compute(rank, depth)
    use mpi
    integer, intent(in) :: rank, depth
    integer :: x, factor, ierr
    factor = rank + depth
    x = 2
    call apply(scale, x)
    if (x /= 2 * (rank + depth)) then
      print *, 'rank', rank, 'depth', depth, 'got', x
      call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end if
  contains
    subroutine scale(x)
      integer, intent(inout) :: x
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      if (depth > 0) call compute(rank, depth - 1)
      x = x * factor
    end subroutine
  end subroutine
end module

program nested_functions
  use mpi
  use appliers
  implicit none
  integer :: ierr, rank
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call compute(rank, 3)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'No Errors'
  call MPI_Finalize(ierr)
end program
