/* Four ranks, three of which wait for a message in different ways until the last one lets them go
   on, which it does once the file FILE is there: waits FILE. For fgmpi-info -job. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, value = 0, other = 0;
  MPI_Comm copy;
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  if (rank == 0) MPI_Comm_set_name(copy, "halo");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(&value, 1, MPI_INT, 3, 7, copy, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Irecv(&value, 1, MPI_INT, 3, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 2) {
    MPI_Ssend(&value, 1, MPI_INT, 3, 9, MPI_COMM_WORLD);
  } else if (rank == 3) {
    printf("waits\n");
    fflush(stdout);
    while (access(argv[1], F_OK) != 0) usleep(1000);
    MPI_Send(&value, 1, MPI_INT, 0, 7, copy);
    MPI_Send(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, 1, 8, copy);
    MPI_Recv(&value, 1, MPI_INT, 2, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("goes on\n");
  }
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
