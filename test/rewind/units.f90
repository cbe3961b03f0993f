! Units that read: a file with lines, a file without, and one that is read directly.
program units
  use mpi
  implicit none
  integer :: rank, ierr, i
  character(len=40) :: line
  character(len=8) :: record
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  open(unit=10, file="data", status="old", action="read")
  do i = 1, 3
    read(10, '(A)') line
    print '(I0,1X,A)', rank, trim(line)
  end do
  close(10)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  open(unit=11, file="data", status="old", action="read", access="stream", form="unformatted")
  read(11, pos=5) record
  print '(I0,1X,A)', rank, record
  close(11)
  open(unit=12, file="data", status="old", action="read", access="direct", recl=8, form="unformatted")
  read(12, rec=2) record
  print '(I0,1X,A)', rank, record
  close(12)
  call MPI_Finalize(ierr)
end program units
