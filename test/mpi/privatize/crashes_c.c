/* The last rank uses up its stack, in small frames or with one large one; run by crashes.sh. */
#include <string.h>

#include "mpitest.h"

int depth_reached;
volatile long large = 40000000; /* a constant would let clang do without the frame */

__attribute__((noinline)) static int recurse(int depth) {
  volatile char frame[512];
  memset((char*)frame, depth, sizeof frame);
  depth_reached = depth;
  return depth == 0 ? 0 : recurse(depth - 1) + frame[depth % 512];
}

/* As large as `bytes`, and little of it touched. */
__attribute__((noinline)) static int large_frame(long bytes) {
  volatile char frame[bytes];
  frame[bytes / 2] = 2;
  MPI_Barrier(MPI_COMM_SELF);
  return frame[bytes - 1];
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == size - 1 && argc > 1)
    return strcmp(argv[1], "frame") ? recurse(100000000) : large_frame(large);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
