/* For tests of calls that wait outside of MPI: ranks in pairs, 2k and 2k + 1, of which one waits
   for the other. An odd last rank is without a partner. */
#ifndef OUTSIDE_H
#define OUTSIDE_H
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, size, failures, partner;

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      printf("rank %d, line %d: %s (errno %d)\n", me, __LINE__, #condition, errno); \
      ++failures;                                                                   \
    }                                                                               \
  } while (0)

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  partner = (me ^ 1) < size ? me ^ 1 : MPI_PROC_NULL;
}
/* The partner has come as far: it has made this call too. */
static inline void meet(void) {
  MPI_Sendrecv(NULL, 0, MPI_INT, partner, 9, NULL, 0, MPI_INT, partner, 9, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
/* The other ranks of the process have had some turns: the partner, if it waits, waits by now. */
static inline void let_wait(void) {
  for (int i = 0; i < 20; ++i) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}
static int end(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0 && all == 0) printf(" No Errors\n");
  MPI_Finalize();
  return all != 0;
}
#endif
