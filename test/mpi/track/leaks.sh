# Communicators that are left behind are listed with the line that made them and how many ranks left them: in C, C++, MPI-2's
# C++ binding and Fortran's three interfaces, whether ranks have images of the program or processes of their own, optimised
# or not, position-independent or not.
. "$(dirname "$0")/begin.bash"
export FGMPI_TRACK="files:raw"

# Each leaves a duplicate of all ranks, made in a function, and one of every second rank.
cat >leak.c <<'END'
#include <mpi.h>
static int calls;
static void leave(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup); /* line 5 */
  ++calls;
}
int main(int argc, char** argv) {
  int rank;
  MPI_Comm half, idup;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  leave();
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Comm_idup(half, &idup, &request); /* line 16 */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&half);
  if (rank % 2) MPI_Comm_free(&idup);
  return MPI_Finalize();
}
END
sed 's/^static int calls;/#include <vector>\nstatic std::vector<int> list; static int calls;/' leak.c | sed 's/line 5/line 6/; s/line 16/line 17/' >leak.cc
cat >binding.cc <<'END'
#include <mpi.h>
static int calls;
static void leave() {
  ++calls;
  MPI::COMM_WORLD.Dup();
}
int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  leave();
  const int odd = MPI::COMM_WORLD.Get_rank() % 2, all[] = {MPI::COMM_WORLD.Get_size()};
  const bool periodic[] = {false};
  MPI::Intracomm half = MPI::COMM_WORLD.Split(odd, 0);
  MPI::Intracomm line = MPI::COMM_WORLD.Create_cart(1, all, periodic, false);
  line.Free();
  if (odd) half.Free();
  MPI::Finalize();
}
END
cat >mpif.f90 <<'END'
program main
  implicit none
  include 'mpif.h'
  integer :: err, dup, half, rank
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call leave(dup)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, half, err)
  if (mod(rank, 2) == 1) call MPI_Comm_free(half, err)
  call MPI_Finalize(err)
contains
  subroutine leave(dup)
    integer, intent(out) :: dup
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, err)
  end subroutine
end program
END
sed 's/  implicit none/  use mpi\n  implicit none/; /include/d' mpif.f90 >module.f90
sed 's/use mpi/use mpi_f08/; s/integer :: err, dup, half, rank/integer :: err, rank; type(MPI_Comm) :: dup, half/
     s/integer, intent/type(MPI_Comm), intent/' module.f90 >f08.f90

# leaks WHAT DUP SPLIT: the list names these places, and how many of the 6 ranks left a communicator behind.
leaks() {
  "$bin/fgmpi-track-dump" --leaks trace >list || fail "$1: fgmpi-track-dump --leaks"
  [ "$(wc -l <list)" = 2 ] && grep -qE "^leaked: comm 1 of MPI_Comm_dup at $2, in 6 ranks \(first: 0\)$" list &&
    grep -qE "^leaked: comm [23] of MPI_Comm_(split|idup) at $3, in 3 ranks \(first: 0\)$" list ||
    fail "$1: $(cat list)"
}
# traced WHAT DUP SPLIT: ./program in one, two and six processes.
traced() {
  for shape in "1 6" "2 3" "6 1"; do
    # shellcheck disable=SC2086
    set -- "$1" "$2" "$3" $shape
    rm -rf trace
    timeout 100 "$bin/mpiexec" -track trace -n "$4" -nfg "$5" ./program >out 2>&1 || fail "$1 at ${5}x$4: status $?: $(cat out)"
    leaks "$1 at ${5}x$4" "$2" "$3"
  done
}
"$bin/mpicc" -w -g leak.c -o program || fail "mpicc"
traced C 'leak.c:5 \(leave\)' 'leak.c:16 \(main\)'
"$bin/mpicc" -w -g -O2 leak.c -o program || fail "mpicc -O2"
traced "C, -O2" 'leak.c:5 \((leave|main)\)' 'leak.c:16 \(main\)'
"$bin/mpicxx" -w -g leak.cc -o program || fail "mpicxx"
traced C++ 'leak.cc:6 \(leave(\(\))?\)' 'leak.cc:17 \(main\)'
for option in -O0 -O2; do
  "$bin/mpicxx" -w -g $option binding.cc -o program || fail "mpicxx binding.cc"
  traced "MPI::, $option" 'binding.cc:5 \((leave(\(\))?|main)\)' 'binding.cc:12 \(main\)'
done
for source in mpif module f08; do
  "$bin/mpifort" -w -g $source.f90 -o program || fail "mpifort $source.f90"
  traced "Fortran, $source" "$source.f90:14 \\(leave.*\\)" "$source.f90:8 \\((MAIN__|main)\\)"
done

# The system's MPICH.
if command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
  library=$(cd "$bin/../lib" && pwd)/libfgmpi-track.so
  for compiler in "mpicc.mpich -no-pie leak.c" "mpicxx.mpich -no-pie binding.cc"; do
    # shellcheck disable=SC2086
    $compiler -w -g -o program || fail "$compiler"
    rm -rf trace
    FGMPI_TRACK_DIR=trace timeout 100 mpiexec.hydra -n 6 env LD_PRELOAD="$library" ./program >out 2>&1 || fail "MPICH: status $?: $(cat out)"
    case $compiler in
      *leak.c) leaks "$compiler" 'leak.c:5 \(leave\)' 'leak.c:16 \(main\)' ;;
      *) leaks "$compiler" 'binding.cc:5 \(leave\(\)\)' 'binding.cc:12 \(main\)' ;;
    esac
  done
fi
echo ok
