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

  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  CHECK(values.collectives > 0 && values.frames >= 0 && (processes == 1 || values.frame_bytes > 0));
  free(all);
  return finish();
}
