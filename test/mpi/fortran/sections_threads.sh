# Array sections and indices in calls of several threads at once, from their first calls on.
set -u
bin=$1 programs=$2
work=$programs/sections_threads.dir
fail() { echo "sections_threads.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
cat >threads.f90 <<'END'
program threads
  use mpi_f08
  use omp_lib
  implicit none
  integer, parameter :: nt = 4
  integer :: rank, size, provided, i
  type(MPI_Comm) :: comms(nt)
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  if (provided /= MPI_THREAD_MULTIPLE) error stop "no threads"
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  do i = 1, nt
    call MPI_Comm_dup(MPI_COMM_WORLD, comms(i))
  end do
  !$omp parallel num_threads(nt)
  call work(omp_get_thread_num() + 1)
  !$omp end parallel
  call MPI_Finalize()
contains
  subroutine work(me)
    integer, intent(in) :: me
    integer :: a(20, 4), b(20, 4), j, index, from
    type(MPI_Request) :: requests(2)
    from = modulo(rank - 1, size)
    do j = 1, 30
      a = rank * 100000 + me * 1000 + j
      b = 0
      call MPI_Irecv(b(2:20:2, :), 13, MPI_INTEGER, from, me, comms(me), requests(1))
      call MPI_Isend(a(1:20:2, :), 13, MPI_INTEGER, modulo(rank + 1, size), me, comms(me), requests(2))
      call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE)
      if (index /= 1 .and. index /= 2) call fail("index")
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      if (any(b(2:20:2, 1) /= from * 100000 + me * 1000 + j) .or. count(b == 0) /= 80 - 13) call fail("received")
      b = 0
      call MPI_Iallreduce(a(1:20:2, :), b(20:1:-2, :), 13, MPI_INTEGER, MPI_MAX, comms(me), requests(1))
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      if (any(b(20:1:-2, 1) /= (size - 1) * 100000 + me * 1000 + j)) call fail("nonblocking reduction")
      call MPI_Allreduce(a(1:20:2, :), b(20:1:-2, :), 13, MPI_INTEGER, MPI_MIN, comms(me))
      if (any(b(20:1:-2, 1) /= me * 1000 + j) .or. count(b == 0) /= 80 - 13) call fail("reduction")
    end do
  end subroutine

  subroutine fail(what)
    character(*), intent(in) :: what
    print *, "rank", rank, ": ", what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
END
"$bin/mpifort" -w -O1 -g -fopenmp threads.f90 -o threads >out 2>&1 || fail "mpifort -fopenmp"
for shape in 1x1 1x2 4x1 3x2; do
  timeout 100 "$bin/mpiexec" -n "${shape#*x}" -nfg "${shape%x*}" ./threads >out 2>&1 || fail "at $shape: status $?"
done
