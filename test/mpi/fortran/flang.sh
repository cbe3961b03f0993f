# Programs that LLVM's flang has compiled, by FGMPI_FC: each rank has its own variables of modules, SAVE and COMMON, and its own
# streams. Modules, array sections, all procedures and functions that MPI calls are as with gfortran.
set -u
bin=$1 work=$2/flang.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "flang.sh: $*" >&2; tail -40 "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
# The newest one: before version 19 it was an experiment.
for suffix in $(seq -f -%g 30 -1 19); do
  for name in flang flang-new; do
    [ -n "${FGMPI_FC:-}" ] || ! command -v "$name$suffix" >/dev/null || export FGMPI_FC="$name$suffix"
  done
done
[ -n "${FGMPI_FC:-}" ] || { echo "flang is not installed"; exit 0; }

cat >body.f90 <<'END'
module counters
  implicit none
  integer, save :: calls = 40
  integer, allocatable :: own(:)
  character(16) :: label = 'unset'
end module
subroutine count_in_common(rank, bad)
  implicit none
  integer :: rank, bad, total, table(3)
  integer, save :: calls = 3
  common /sums/ total, table
  calls = calls + rank
  total = total + rank
  table(2) = table(2) + 2 * rank
  if (calls /= 3 + rank .or. total /= rank .or. table(2) /= 2 * rank) bad = bad + 1
end subroutine
program ranks
  use counters
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: ierr, rank, n, bad, failed, status(MPI_STATUS_SIZE), left
  double precision :: sums(2)
  character(40) :: line
  bad = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  calls = calls + rank
  write (label, '(a,i0)') 'rank ', rank
  allocate (own(rank + 1))
  own = rank
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call count_in_common(rank, bad)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, n), 7, left, 1, MPI_INTEGER, mod(rank + n - 1, n), 7, &
                    MPI_COMM_WORLD, status, ierr)
  if (left /= mod(rank + n - 1, n) .or. status(MPI_SOURCE) /= left) bad = bad + 1
  sums = (/ dble(rank), 1d0 /)
  call MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (nint(sums(1)) /= n * (n - 1) / 2 .or. nint(sums(2)) /= n) bad = bad + 1
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, n), 7, left, 1, MPI_INTEGER, mod(rank + n - 1, n), 7, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  write (line, '(a,i0)') 'rank ', rank
  if (calls /= 40 + rank .or. label /= line .or. size(own) /= rank + 1 .or. any(own /= rank)) bad = bad + 1
  call MPI_Reduce(bad, failed, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  print '(a,i0,a,i0)', 'rank ', rank, ' of ', n
  call MPI_Finalize(ierr)
  if (rank == 0 .and. failed /= 0) stop 1
end program
END
sed "s/USE_MPI//; s/INCLUDE_MPI/include 'mpif.h'/" body.f90 >header.f90
sed "s/USE_MPI/use mpi/; s/INCLUDE_MPI//" body.f90 >module.f90
for program in header module; do
  "$bin/mpifort" -O2 $program.f90 -o $program >out 2>&1 || fail "$FGMPI_FC $program.f90"
  for shape in "1 1" "1 4" "2 6"; do
    timeout 100 "$bin/mpiexec" -n "${shape% *}" -nfg "${shape#* }" ./$program >out 2>&1 || fail "$program, $shape: status $?"
    ranks=$((${shape% *} * ${shape#* }))
    [ "$(grep -c "^rank [0-9]* of $ranks$" out)" = $ranks ] || fail "$program, $shape: not $ranks lines"
  done
done
for program in indices_f08 sections_pt2pt sections_window; do
  "$bin/mpifort" -O1 "$source/$program.f90" -o $program >out 2>&1 || fail "$FGMPI_FC $program.f90"
  timeout 100 "$bin/mpiexec" -n 2 -nfg 3 ./$program >out 2>&1 || fail "$program: status $?"
done
for script in every_call callbacks; do
  bash "$source/$script.sh" "$bin" "$work" >out 2>&1 || fail "$script.sh"
done
# Its options are not those of gfortran.
"$bin/mpifort" -c header.f90 -o header.o >out 2>&1 && "$bin/mpifort" header.o -o header >>out 2>&1 || fail "-c, then a link"
"$bin/mpifort" -check header.f90 >out 2>&1 && fail "-check: no error"
grep -q "^mpifort: -check: $FGMPI_FC is no GCC" out || fail "-check"
echo " No Errors"
