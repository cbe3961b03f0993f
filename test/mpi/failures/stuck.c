/* The last process fails, and the ranks that are left wait for each other for ever, or would, if
   the library did not take in what it should not keep (argument "limit"). */
#include <fgmpi.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMessages = 300, kBytes = 10000 };

int main(int argc, char** argv) {
  int rank, size, here, first;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Get_collocated_size(&here);
  MPIX_Get_collocated_startrank(&first);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int victim = argc > 2 ? atoi(argv[2]) : size - 1; /* its process */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == victim) {
    usleep(50000); /* all others are through the barrier */
    kill(getpid(), SIGKILL);
  }
  while (victim >= first && victim < first + here) sleep(1);
  int value = 0;
  (void)MPI_Recv(&value, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  /* All that are left know of it. Neighbours among them: */
  MPI_Comm left;
  MPIX_Comm_shrink(MPI_COMM_WORLD, &left);
  MPI_Comm_rank(left, &rank);
  MPI_Comm_size(left, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  if (argc > 1 && !strcmp(argv[1], "limit")) {
    /* Far more than FGMPI_UNEXPECTED_LIMIT, each small enough to be taken in. */
    static char out[kBytes], in[kBytes];
    for (int i = 0; i < kMessages; ++i) MPI_Send(out, kBytes, MPI_CHAR, next, 2, left);
    for (int i = 0; i < kMessages; ++i)
      MPI_Recv(in, kBytes, MPI_CHAR, before, 2, left, MPI_STATUS_IGNORE);
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left);
    if (rank == 0 && sum == size) printf("%d ranks have all messages\n", size);
  } else {
    MPI_Recv(&value, 1, MPI_INT, before, 3, left, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
