/* FG-MPI's interface: the bully election with timeouts. The highest ranks do not answer; everybody
 * else must agree on the highest that does. Ranks wait for answers with MPI_Iprobe and MPIX_Usleep
 * until a time has passed. */
#include <fgmpi.h>

#include "mpitest.h"

enum { kElection = 20, kAnswer = 24, kCoordinator = 23 };

static int silent(int rank, int size) { return rank > 0 && rank >= size - size / 4 - 1; }

static int wait_for(int tag, double seconds, int* from) {
  double until = MPI_Wtime() + seconds;
  do {
    int flag, nothing;
    MPI_Status status;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status));
    if (flag) {
      OK(MPI_Recv(&nothing, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      *from = status.MPI_SOURCE;
      return 1;
    }
    OK(MPIX_Usleep(200));
  } while (MPI_Wtime() < until);
  return 0;
}

static void send(int to, int tag) { OK(MPI_Send(&to, 1, MPI_INT, to, tag, MPI_COMM_WORLD)); }

static int bully(int argc, char** argv) {
  int rank, size, other, from, leader, lower, answers = 0;
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (leader = size - 1; silent(leader, size); --leader)
    ;
  if (!silent(rank, size)) {
    /* Every living rank starts an election, and answers those of all lower ones. */
    for (other = rank + 1; other < size; ++other) send(other, kElection);
    for (lower = 0; lower < rank; ++lower) {
      CHECK(wait_for(kElection, 60, &from) && from < rank);
      send(from, kAnswer);
    }
    for (other = rank + 1; other < size; ++other)
      if (!silent(other, size)) answers += wait_for(kAnswer, 60, &from);
    if (!answers) {
      CHECK(!wait_for(kAnswer, 0.002, &from));
      CHECK(rank == leader);
      for (other = 0; other < size; ++other)
        if (other != rank) send(other, kCoordinator);
      from = rank;
    } else {
      CHECK(wait_for(kCoordinator, 60, &from));
    }
    CHECK(from == leader);
  } else {
    CHECK(wait_for(kCoordinator, 60, &from) && from == leader);
    for (lower = 0; lower < size; ++lower) /* what it did not answer */
      if (lower < rank && !silent(lower, size)) CHECK(wait_for(kElection, 60, &from));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) printf(" No Errors\n");
  OK(MPI_Finalize());
  return 0;
}

static FG_ProcessPtr_t map(int argc, char** argv, int rank) {
  (void)argc, (void)argv, (void)rank;
  return &bully;
}

static FG_MapPtr_t lookup(int argc, char** argv, char* name) {
  (void)argc, (void)argv, (void)name;
  return &map;
}

int main(int argc, char* argv[]) {
  FGmpiexec(&argc, &argv, &lookup);
  return 0;
}
