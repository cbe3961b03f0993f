# OpenMP programs in which every thread of a parallel region calls MPI (MPI_THREAD_MULTIPLE), and waits of OpenMP that other
# ranks of the process run during.
set -u
bin=$1 work=$2/openmp.dir
fail() { echo "openmp.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >multiple.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int provided, rank, size, bad = 0, all;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comms[8];
  for (int i = 0; i < 8; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int round = 0; round < 10; ++round) {
#pragma omp parallel reduction(+ : bad)
    {
      int me = omp_get_thread_num(), left = -1, sum = -1, mine = rank * 100 + me, main_thread = -1;
      MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, me, &left, 1, MPI_INT, (rank + size - 1) % size, me,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      bad += left != (rank + size - 1) % size * 100 + me;
#pragma omp barrier
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[me]);
      bad += sum != size * (size - 1) / 2 * 100 + size * me;
      MPI_Is_thread_main(&main_thread);
      bad += main_thread != (me == 0);
    }
  }
  bad += provided != MPI_THREAD_MULTIPLE;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  for (int i = 0; i < 8; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 -fopenmp multiple.c -o multiple || fail "mpicc"
cat >barriers.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int provided, rank, size, bad = 0, all;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double sum = 0;
  for (int round = 0; round < 20; ++round) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    int arrived = 0;
#pragma omp parallel num_threads(3) reduction(+ : bad) reduction(+ : sum)
    {
      /* Each rank's second thread waits for a rank that may not have run yet, and all others for that thread. */
      int me = omp_get_thread_num(), token = -1, partner = round % 2 ? rank - 1 : rank + 1;
      double mine = rank + me * 0.5;
      if (me == 1) {
        omp_set_lock(&lock);
        int to = round % 2 ? rank + 1 : rank - 1;
        if (partner >= 0 && partner < size) {
          MPI_Recv(&token, 1, MPI_INT, partner, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          bad += token != partner;
        }
        if (to >= 0 && to < size) MPI_Send(&rank, 1, MPI_INT, to, round, MPI_COMM_WORLD);
        omp_unset_lock(&lock);
      }
      omp_set_lock(&lock);
      ++arrived;
      omp_unset_lock(&lock);
#pragma omp barrier
      bad += arrived != 3;
      sum += mine;
    }
    omp_destroy_lock(&lock);
  }
  bad += sum != 20 * (3 * rank + 1.5);
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O2 -fopenmp barriers.c -o barriers || fail "mpicc"
for shape in "-n 1 -nfg 1" "-n 1 -nfg 4" "-n 4 -nfg 1" "-n 2 -nfg 3" "-n 2 -nfg 16"; do
  for policy in active passive; do
    OMP_WAIT_POLICY=$policy timeout 60 "$bin/mpiexec" $shape ./barriers >out 2>&1 || fail "$policy $shape: status $?"
    grep -q '^0 wrong$' out || fail "$policy $shape: wrong"
  done
done
FGMPI_SCHED=random:5 timeout 60 "$bin/mpiexec" -n 2 -nfg 5 ./barriers >out 2>&1 || fail "random: status $?"

for threads in 1 2 4 8; do
  for shape in "-n 1" "-n 2" "-n 4" "-n 1 -nfg 3" "-n 2 -nfg 2"; do
    OMP_NUM_THREADS=$threads timeout 60 "$bin/mpiexec" $shape ./multiple >out 2>&1 || fail "$threads $shape: status $?"
    grep -q '^0 wrong$' out || fail "$threads $shape: wrong"
  done
done
exit 0
