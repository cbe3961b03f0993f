! A rank in Fortran is saved: variables of a module, allocatables, a file that it writes, a derived
! type of MPI, a persistent request.
module state
  implicit none
  integer, save :: counter = 5
  real(8), allocatable :: field(:, :)
  type particle
    integer :: number
    real(8) :: place(3)
    real(8), allocatable :: trail(:)
  end type
  type(particle), allocatable :: particles(:)
  character(len=:), allocatable :: label
end module

program main
  use mpi
  use state
  implicit none
  interface
    integer(c_int) function checkpoint_all() bind(c, name="checkpoint_all")
      use iso_c_binding
    end function
  end interface
  integer :: rank, size, error, i, column, request, got, bad, all
  integer :: status(MPI_STATUS_SIZE)
  character(len=32) :: path, line
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  allocate (field(20, 30), particles(10))
  do i = 1, 30
    field(:, i) = i + rank
  end do
  do i = 1, 10
    particles(i)%number = i * rank
    particles(i)%place = [1d0, 2d0, 3d0] * i
    allocate (particles(i)%trail(i))
    particles(i)%trail = rank
  end do
  label = "rank" // achar(iachar("a") + mod(rank, 26))
  counter = counter + rank
  write (path, "(a,i0,a)") "modules.", rank, ".txt"
  open (unit=17, file=path, status="replace")
  write (17, "(a,i0)") "first ", rank
  call MPI_Type_vector(30, 1, 20, MPI_DOUBLE_PRECISION, column, error)
  call MPI_Type_commit(column, error)
  call MPI_Recv_init(got, 1, MPI_INTEGER, mod(rank + size - 1, size), 3, MPI_COMM_WORLD, request, error)
  call MPI_Start(request, error)
  bad = checkpoint_all()
  call MPI_Send(counter, 1, MPI_INTEGER, mod(rank + 1, size), 3, MPI_COMM_WORLD, error)
  call MPI_Wait(request, status, error)
  if (got /= 5 + mod(rank + size - 1, size)) bad = bad + 1
  call MPI_Request_free(request, error)
  call MPI_Sendrecv_replace(field(2, 1), 1, column, mod(rank + 1, size), 4, mod(rank + size - 1, size), 4, &
                            MPI_COMM_WORLD, status, error)
  do i = 1, 30
    if (field(2, i) /= i + mod(rank + size - 1, size) .or. field(1, i) /= i + rank) bad = bad + 1
  end do
  do i = 1, 10
    if (particles(i)%number /= i * rank .or. any(particles(i)%trail /= rank)) bad = bad + 1
    if (any(particles(i)%place /= [1d0, 2d0, 3d0] * i)) bad = bad + 1
  end do
  if (label /= "rank" // achar(iachar("a") + mod(rank, 26))) bad = bad + 1
  write (17, "(a,i0)") "second ", rank
  rewind (17)
  read (17, "(a)") line
  if (line(1:6) /= "first ") bad = bad + 1
  read (17, "(a)") line
  if (line(1:7) /= "second ") bad = bad + 1
  close (17)
  call MPI_Allreduce(bad, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Type_free(column, error)
  if (rank == 0 .and. all == 0) print "(a)", "No Errors"
  if (rank == 0 .and. all /= 0) print "(a,i0)", "errors: ", all
  call MPI_Finalize(error)
end program
