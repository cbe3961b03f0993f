/* What mpiexec -explore has to run again and again: rank 0 computes for so many milliseconds, then
   takes a message of every other rank, in any order, and computes for so many milliseconds after
   each. explore_rate.py measures it. */
#include <mpi.h>
#include <stdlib.h>

static void compute(const char* milliseconds) {
  const double end = MPI_Wtime() + atof(milliseconds) / 1000;
  while (MPI_Wtime() < end) {
  }
}

int main(int argc, char** argv) {
  int me, all, value;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  if (me == 0 && argc > 1) compute(argv[1]);
  for (int i = 1; me == 0 && i < all; ++i) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 2) compute(argv[2]);
  }
  if (me > 0) MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
