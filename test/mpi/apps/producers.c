/* Producers send to consumers over an intercommunicator; then its collectives, and both groups
 * merge. */
#include "mpitest.h"

enum { kItems = 5 };

static void produce(MPI_Comm between, int rank, int producers, int consumers) {
  for (int item = 0; item < kItems; ++item)
    for (int to = rank; to < consumers; to += producers) {
      int value = rank * 1000 + item;
      OK(MPI_Send(&value, 1, MPI_INT, to, item, between));
    }
}

static void consume(MPI_Comm between, int rank, int producers) {
  for (int item = 0; item < kItems; ++item) {
    int value;
    MPI_Status status;
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, between, &status));
    CHECK(status.MPI_SOURCE == rank % producers && status.MPI_TAG == item);
    OK(MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, between, MPI_STATUS_IGNORE));
    CHECK(value == status.MPI_SOURCE * 1000 + item);
  }
}

int main(int argc, char** argv) {
  int rank, size, mine, remote, flag, one = 1, sum, value, merged_rank, merged_size;
  MPI_Comm local, between, merged;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size < 2) return finish();
  int producers = (size + 2) / 3, producing = rank < producers;
  OK(MPI_Comm_split(MPI_COMM_WORLD, producing, rank, &local));
  OK(MPI_Comm_rank(local, &mine));
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, producing ? producers : 0, 77, &between));
  OK(MPI_Comm_remote_size(between, &remote));
  CHECK(remote == (producing ? size - producers : producers));
  OK(MPI_Comm_test_inter(between, &flag));
  CHECK(flag);
  if (producing)
    produce(between, mine, producers, remote);
  else
    consume(between, mine, producers);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between));
  CHECK(sum == remote);
  value = producing ? 42 : 0;
  OK(MPI_Bcast(&value, 1, MPI_INT, producing ? (mine == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0,
               between));
  CHECK(value == 42);
  int* all = malloc(remote * sizeof(int));
  OK(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, between));
  for (int i = 0; i < remote; ++i) CHECK(all[i] == i);
  free(all);
  OK(MPI_Intercomm_merge(between, !producing, &merged));
  OK(MPI_Comm_rank(merged, &merged_rank));
  OK(MPI_Comm_size(merged, &merged_size));
  CHECK(merged_rank == rank && merged_size == size);
  OK(MPI_Barrier(merged));
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_free(&between));
  OK(MPI_Comm_free(&local));
  return finish();
}
