/* Where the time of a program of the validation begins: at the same moment on all hosts.
 *
 * Ranks leave a barrier up to two latencies after each other, and the first of them would count this as a part of the program.
 * Hosts that are network namespaces have one clock, MPI_Wtime, and so have the ranks of a prediction: rank 0 names a time that
 * is still to come, and everybody sleeps until then. */
#ifndef PREDICT_START_H
#define PREDICT_START_H
#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* Connects all pairs. Returns the time at which all ranks go on. */
static inline double start_together(void) {
  struct timespec pause;
  double begin, left;
  char none = 0;
  int rank, size;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < size; ++i)
    PMPI_Sendrecv(&none, 1, MPI_CHAR, (rank + i) % size, 0, &none, 1, MPI_CHAR,
                  (rank + size - i) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  PMPI_Barrier(MPI_COMM_WORLD);
  begin = PMPI_Wtime() + 1;
  PMPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  left = begin - PMPI_Wtime();
  if (left <= 0) printf("WRONG: %d ranks start %f s late\n", size, -left);
  pause.tv_sec = left > 0 ? (time_t)left : 0;
  pause.tv_nsec = left > 0 ? (long)((left - (double)pause.tv_sec) * 1e9) : 0;
  nanosleep(&pause, NULL);
  return begin;
}

/* How long this process has been ready while others had the cores, s. */
static inline double waited_for_cores(void) {
  unsigned long long ran = 0, waited = 0;
  FILE* file = fopen("/proc/self/schedstat", "r");
  if (!file) return 0;
  if (fscanf(file, "%llu %llu", &ran, &waited) != 2) waited = 0;
  fclose(file);
  return 1e-9 * (double)waited;
}
#endif
