/* A ring of neighbours that exchange messages of known size: stencil STEPS BYTES [END]. Each rank
 * sends STEPS messages of BYTES bytes to each neighbour, takes part in STEPS reductions of 8 bytes
 * and in one barrier. END: "crash", "signal", "killed", "exit", "exit9", "deadlock", "abort" or
 * "hang" is what the last rank does after that; "hang" prints a line first. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void end_badly(const char* how, int rank, int size) {
  int nothing = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "deadlock") == 0)
    MPI_Recv(&nothing, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank != size - 1) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
  if (strcmp(how, "signal") == 0) *(volatile int*)8 = 1;
  if (strcmp(how, "killed") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "exit9") == 0) syscall(SYS_exit_group, 9);
  if (strcmp(how, "hang") == 0) {
    printf("hangs\n");
    fflush(stdout);
    pause();
  }
  abort();
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = atoi(argv[1]), bytes = atoi(argv[2]);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  char* data = calloc(4, (size_t)bytes);
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    double value = step, sum;
    MPI_Irecv(data, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data + bytes, bytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(data + 2 * bytes, bytes, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(data + 3 * bytes, bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Status statuses[4];
    MPI_Waitall(4, requests, statuses);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (argc > 3) end_badly(argv[3], rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
  return MPI_Finalize();
}
