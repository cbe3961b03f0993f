! Fortran: variables of a module, allocatables that grow and move, derived types with allocatables in them, strings, a file that
! each rank writes and reads again, and mpi_f08.
module fields
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  type particle
    integer(int64) :: number
    integer(int64), allocatable :: trail(:)
  end type
  integer(int64), save :: counter = 5
  integer(int64), allocatable :: field(:, :)
  type(particle), allocatable :: particles(:)
  character(len=:), allocatable :: label
contains
  subroutine grow(n)
    integer, intent(in) :: n
    integer(int64), allocatable :: larger(:, :)
    allocate (larger(n, n))
    larger = counter
    if (allocated(field)) larger(1:ubound(field, 1), 1:ubound(field, 2)) = field
    call move_alloc(larger, field)
  end subroutine
end module

program main
  use mpi_f08
  use fields
  implicit none
  integer :: rank, size, step, i, left, right, read_step
  integer(int64) :: own, all, line_sum
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: row
  character(len=40) :: path
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = modulo(rank - 1, size)
  right = modulo(rank + 1, size)
  write (path, "(a,i0,a)") "allocated.", rank, ".txt"
  open (unit=17, file=path, status="replace", action="readwrite")
  allocate (particles(8))
  do i = 1, 8
    particles(i)%number = i * rank
    allocate (particles(i)%trail(i))
    particles(i)%trail = rank
  end do
  label = "rank"
  do step = 3, 42
    call grow(step)
    counter = counter + rank
    call MPI_Type_vector(step, 1, step, MPI_INTEGER8, row)
    call MPI_Type_commit(row)
    call MPI_Irecv(field(1, 1), 1, row, left, step, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(field(2, 1), 1, row, right, step, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Type_free(row)
    i = modulo(step, 8) + 1
    particles(i)%trail = [particles(i)%trail, counter]
    label = label // achar(iachar("a") + modulo(step + rank, 26))
    write (17, "(i0,1x,i0)") step, counter
    own = sum(field) + sum(particles(i)%trail) + len(label)
    call MPI_Allreduce(own, all, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0 .and. modulo(step, 10) == 0) print "(a,i0,a,i0)", "step ", step, ": ", all
  end do
  rewind (17)
  line_sum = 0
  do step = 3, 42
    read (17, *) read_step, own
    if (read_step /= step) print "(a,i0)", "wrong line ", step
    line_sum = line_sum + own
  end do
  close (17, status="delete")
  call MPI_Reduce(line_sum, all, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) print "(a,i0,1x,a)", "lines: ", all, label
  call MPI_Finalize()
end program
