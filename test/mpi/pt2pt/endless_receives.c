/* Rank 0 posts receives without end; the last rank of its process has the real error (endless_receives.sh). */
#include <string.h>

#include "mpitest.h"

/* The most memory that the process has had, in MiB. */
static long most_memory(void) {
  char line[256];
  long kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  CHECK(status);
  while (fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  fclose(status);
  return kib / 1024;
}

int main(int argc, char** argv) {
  int rank, size, x, flag;
  MPI_Request request;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  while (rank == 0) OK(MPI_Irecv(&x, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD, &request));
  for (int turns = 0; turns < 100; turns++)
    OK(MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  if (rank == size - 1) {
    printf("at most %ld MiB\n", most_memory());
    fflush(stdout);
    MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
