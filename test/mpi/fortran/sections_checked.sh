# mpiexec -check of array sections in mpi_f08: partitioned sends and receives of sections meet each other, and those of
# contiguous memory, in the order of their calls; what is wrong beside them is found.
set -u
bin=$1 programs=$2
work=$programs/sections_checked.dir
fail() { echo "sections_checked.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
# Four messages of two partitions: from a section to a section, to contiguous memory and back, and between contiguous memory,
# the last of another type. An argument names what goes wrong: "lost", a section's send that no receive meets, or "types".
cat >partitions.f90 <<'END'
program partitions
  use mpi_f08
  implicit none
  integer :: rank, size, to, from, i
  integer(MPI_COUNT_KIND), parameter :: parts = 5
  integer, asynchronous :: a(20, 4), b(20, 4)
  real, asynchronous :: x(10), y(10)
  character(10) :: wrong
  type(MPI_Request) :: requests(9)
  wrong = ""
  if (command_argument_count() > 0) call get_command_argument(1, wrong)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  to = modulo(rank + 1, size)
  from = modulo(rank - 1, size)
  a = rank
  b = -1
  x = real(rank)
  y = -1
  call receive_section(b(2:20:2, 1), requests(1))
  call MPI_Precv_init(b(:, 2), 2, parts, MPI_INTEGER, from, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
  call receive_section(b(2:20:2, 3), requests(3))
  call MPI_Precv_init(y, 2, parts, MPI_REAL, from, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(4))
  call send_section(a(1:20:2, 1), requests(5))
  call send_section(a(1:20:2, 2), requests(6))
  call MPI_Psend_init(a(:, 3), 2, parts, MPI_INTEGER, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(7))
  if (wrong == "types") then
    call MPI_Psend_init(a(:, 4), 2, parts, MPI_INTEGER, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(8))
  else
    call MPI_Psend_init(x, 2, parts, MPI_REAL, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(8))
  end if
  call MPI_Startall(8, requests)
  do i = 5, 8
    call MPI_Pready_range(0, 1, requests(i))
  end do
  call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
  if (any(b(2:20:2, 1) /= from) .or. any(b(1:10, 2) /= from) .or. any(b(2:20:2, 3) /= from)) error stop "data"
  if (count(b == -1) /= 50) error stop "beside the data"
  if (wrong /= "types" .and. any(y /= real(from))) error stop "numbers"
  if (wrong == "lost") then
    call send_section(a(1:20:2, 1), requests(9))
    call MPI_Start(requests(9))
    call MPI_Pready_range(0, 1, requests(9))
  end if
  do i = 1, 8
    call MPI_Request_free(requests(i))
  end do
  call MPI_Finalize()
contains
  subroutine send_section(section, request)
    integer, intent(in), asynchronous :: section(:)
    type(MPI_Request), intent(out) :: request
    call MPI_Psend_init(section, 2, parts, MPI_INTEGER, to, 4, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  end subroutine
  subroutine receive_section(section, request)
    integer, asynchronous :: section(:)
    type(MPI_Request), intent(out) :: request
    call MPI_Precv_init(section, 2, parts, MPI_INTEGER, from, 4, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  end subroutine
end program
END
"$bin/mpifort" -w -O1 -g partitions.f90 -o partitions >out 2>&1 || fail "mpifort"
# run SHAPE [WRONG]: a shape is CxP (ranks a process x processes).
run() {
  shape=$1
  shift
  timeout 120 "$bin/mpiexec" -check -n "${shape#*x}" -nfg "${shape%x*}" ./partitions "$@" >out 2>&1
}
for shape in 1x1 4x1 1x2 3x2; do
  run $shape || fail "at $shape: status $?"
done
FGMPI_SCHED=random:7 run 5x2 || fail "at random: status $?"
for shape in 4x1 3x2; do
  run $shape types && fail "other types are not found at $shape"
  grep -q "a message is received with other types than it is sent with" out || fail "other types at $shape"
  run $shape lost && fail "a lost message is not found at $shape"
  grep -q "a message is never received" out || fail "a lost message at $shape"
done
