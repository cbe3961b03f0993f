/* A rank ends the job, or waits for ever, while it is in another process than it has begun in: by exit(3), abort, an error of MPI,
 * MPI_Abort or a deadlock, as the argument says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const pid_t home = (pid_t)syscall(SYS_getpid);
  int rank, size, flag, data[2] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* way = argc > 1 ? argv[1] : "";
  if (rank == 1) {
    while ((pid_t)syscall(SYS_getpid) == home)
      MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    fprintf(stderr, "away\n");
    if (!strcmp(way, "exit")) exit(3);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 5);
    if (!strcmp(way, "error")) MPI_Send(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "home error")) MPI_Bcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  /* Nobody sends this. */
  MPI_Recv(data, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
