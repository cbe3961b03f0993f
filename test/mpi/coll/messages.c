/* Collectives are location-aware: the messages between processes are O(P), however many ranks the
 * processes host (HPDC'10 section 4.1). MPIX_Stats counts them. */
#include <fgmpi.h>

#include "mpitest.h"

static MPI_Count messages_of_this_process(void) {
  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  return values.collective_messages;
}

/* Sent by all processes since `before`: one rank a process speaks for it. */
static MPI_Count sent_since(MPI_Count before) {
  int first, rank;
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  long mine = rank == first ? (long)(messages_of_this_process() - before) : 0, all = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return all;
}

/* The other collectives: a few messages a process (each of a few algorithms' steps at most). */
#define FEW(call)                                   \
  do {                                              \
    OK(MPI_Barrier(MPI_COMM_WORLD));                \
    MPI_Count before_ = messages_of_this_process(); \
    OK(call);                                       \
    MPI_Count sent_ = sent_since(before_);          \
    CHECK(sent_ <= (MPI_Count)8 * (processes - 1)); \
  } while (0)

static void all_the_others(int rank, int size, int processes) {
  int *many = calloc((size_t)size, sizeof(int)), *ones = malloc(sizeof(int) * (size_t)size);
  int *displs = malloc(sizeof(int) * (size_t)size), sum;
  double vector[3000] = {0}, result[3000];
  for (int r = 0; r < size; ++r) {
    ones[r] = 1;
    displs[r] = r;
  }
  FEW(MPI_Barrier(MPI_COMM_WORLD));
  FEW(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2);
  FEW(MPI_Allreduce(vector, result, 3000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  FEW(MPI_Bcast(vector, 3000, MPI_DOUBLE, 0, MPI_COMM_WORLD));
  FEW(MPI_Reduce(vector, result, 3000, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD));
  FEW(MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == rank * (rank + 1) / 2);
  FEW(MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  FEW(MPI_Allgather(&rank, 1, MPI_INT, many, 1, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) CHECK(many[r] == r);
  FEW(MPI_Allgatherv(&rank, 1, MPI_INT, many, ones, displs, MPI_INT, MPI_COMM_WORLD));
  FEW(MPI_Gatherv(&rank, 1, MPI_INT, many, ones, displs, MPI_INT, 0, MPI_COMM_WORLD));
  FEW(MPI_Scatterv(many, ones, displs, MPI_INT, &sum, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(sum == rank);
  FEW(MPI_Reduce_scatter_block(many, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  FEW(MPI_Reduce_scatter(many, &sum, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  FEW(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, many, ones, displs, MPI_INT,
                    MPI_COMM_WORLD));
  free(many);
  free(ones);
  free(displs);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size, processes, value[2] = {1, 2};
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Get_n_size(&processes));
  int* all = malloc(sizeof(int) * (size_t)size);

  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Count before = messages_of_this_process();
  OK(MPI_Bcast(value, 2, MPI_INT, size / 2, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);

  OK(MPI_Barrier(MPI_COMM_WORLD));
  before = messages_of_this_process();
  OK(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);
  for (int r = 0; rank == 0 && r < size; ++r) CHECK(all[r] == r);

  OK(MPI_Barrier(MPI_COMM_WORLD));
  before = messages_of_this_process();
  OK(MPI_Scatter(all, 1, MPI_INT, value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);
  CHECK(value[0] == rank);

  OK(MPI_Barrier(MPI_COMM_WORLD));
  before = messages_of_this_process();
  OK(MPI_Reduce(&rank, value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);

  OK(MPI_Barrier(MPI_COMM_WORLD));
  before = messages_of_this_process();
  OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD));
  CHECK(sent_since(before) <= (MPI_Count)processes * (processes - 1));

  all_the_others(rank, size, processes);

  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  CHECK(values.collectives > 0 && values.frames >= 0 && (processes == 1 || values.frame_bytes > 0));
  free(all);
  return finish();
}
