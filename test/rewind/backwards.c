// Calls, loops and recursion between MPI calls, at known lines: for going backwards by lines.
#include <mpi.h>
#include <stdio.h>

static int g_total;

static int square(int x) {
  int result = x * x;
  return result;  // end of square
}

static int fold(int depth, int x) {
  if (depth == 0) return x;
  int inner = fold(depth - 1, x + 1);
  return inner + depth;  // fold returns
}

static void compute(int rank, int round) {
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    sum += square(i + rank);  // in the loop
  }
  g_total += sum;  // behind the loop
  int deep = fold(3, round);
  g_total += deep;  // behind the recursion
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 50; ++round) {
    compute(rank, round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  printf("%d: %d\n", rank, g_total);
  MPI_Finalize();
  return 0;
}
