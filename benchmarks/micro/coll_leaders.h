/* One rank a process, for what processes do beside collectives (memory bandwidth). Any MPI. */
#ifndef FGMPI_BENCHMARKS_COLL_LEADERS_H
#define FGMPI_BENCHMARKS_COLL_LEADERS_H

#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

/* The ranks with one process id share a process (the job is on one host); the lowest leads. */
static void find_leaders(MPI_Comm* leaders, int* hosted) {
  int rank, size, id = (int)getpid(), leads = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* ids = malloc(sizeof(int) * (size_t)size);
  MPI_Allgather(&id, 1, MPI_INT, ids, 1, MPI_INT, MPI_COMM_WORLD);
  *hosted = 0;
  for (int r = 0; r < size; ++r) {
    *hosted += ids[r] == id;
    leads &= r >= rank || ids[r] != id;
  }
  free(ids);
  MPI_Comm_split(MPI_COMM_WORLD, leads ? 0 : MPI_UNDEFINED, rank, leaders);
}

#endif
