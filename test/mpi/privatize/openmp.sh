# OpenMP programs: a rank may call MPI within a parallel region; the ranks share the processors.
set -u
bin=$1 work=$2/openmp.dir
fail() { echo "openmp.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >funneled.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
static int of_thread, of_rank;
#pragma omp threadprivate(of_thread)
static int rank, size;
static void shift(void) {
  int left;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &left, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
int main(int argc, char** argv) {
  int provided, bad = 0, all, round;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (round = 0; round < 10; ++round) {
    int sum = 0, threads = 0, i;
    of_rank = rank;
#pragma omp parallel reduction(+ : sum)
    {
      of_thread = rank * 100 + omp_get_thread_num();
#pragma omp master
      {
        threads = omp_get_num_threads();
        for (i = 0; i < 1 + (rank + round) % 3; ++i) shift();
      }
#pragma omp barrier
#pragma omp critical
      sum += of_rank == rank && of_thread == rank * 100 + omp_get_thread_num() && omp_get_level() == 1;
    }
    for (i = 1 + (rank + round) % 3; i < 3; ++i) shift();
    bad += sum != threads;
  }
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 -fopenmp funneled.c -o funneled || fail "mpicc"
for setting in OMP_NUM_THREADS=1 OMP_NUM_THREADS=2 none=; do
  for shape in "-n 1 -nfg 1" "-n 1 -nfg 30" "-n 2 -nfg 10"; do
    env "$setting" timeout 60 "$bin/mpiexec" $shape ./funneled >out 2>&1 || fail "$setting $shape: status $?"
    grep -q '^0 wrong$' out || fail "$setting $shape: wrong"
  done
done

# The processors are shared by the ranks of the host, unless the user says another number.
cat >threads.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int rank;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d has %d\n", rank, omp_get_max_threads());
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 -fopenmp threads.c -o threads || fail "mpicc"
timeout 60 "$bin/mpiexec" -n 2 -nfg "$(nproc)" ./threads >out 2>&1 || fail "threads: status $?"
[ "$(grep -c ' has 1$' out)" = $((2 * $(nproc))) ] || fail "not one thread a rank"
OMP_NUM_THREADS=3 timeout 60 "$bin/mpiexec" -n 2 -nfg 3 ./threads >out 2>&1 || fail "three threads: status $?"
[ "$(grep -c ' has 3$' out)" = 6 ] || fail "not three threads a rank"
# LLVM's runtime, where it is installed: an image for each rank.
if command -v clang >/dev/null && clang -fopenmp -shared -o probe.so -x c /dev/null 2>/dev/null; then
  "$bin/mpicc" -show funneled.c -o llvm | sed 's/^[^ ]*/clang -fopenmp/' >command
  sh command >out 2>&1 || fail "clang"
  for shape in "-n 2" "-n 1 -nfg 4" "-n 2 -nfg 3"; do
    OMP_NUM_THREADS=3 timeout 100 "$bin/mpiexec" $shape ./llvm >out 2>&1 || fail "LLVM's OpenMP, $shape: status $?"
  done
fi
echo " No Errors"
