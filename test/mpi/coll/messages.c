/* Collectives are location-aware: the messages between processes are O(P), however many ranks the
 * processes host (HPDC'10 section 4.1). MPIX_Stats counts them. */
#include <fgmpi.h>

#include "mpitest.h"

static MPI_Count messages_of_this_process(void) {
  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  return values.collective_messages;
}

/* The ranks of this process. */
static MPI_Comm here;

/* No rank has begun the collective whose messages are counted from here on. */
static MPI_Count sent_so_far(void) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Count sent = messages_of_this_process();
  OK(MPI_Barrier(here));
  return sent;
}

/* Sent by all processes since `before`: one rank a process speaks for it, when all of them have
 * been in the collective: some may have gone on before others came. */
static MPI_Count sent_since(MPI_Count before) {
  int first, rank;
  OK(MPI_Barrier(here));
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  long mine = rank == first ? (long)(messages_of_this_process() - before) : 0, all = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return all;
}

/* The other collectives: a few messages a process (each of a few algorithms' steps at most). */
#define FEW(call)                                   \
  do {                                              \
    MPI_Count before_ = sent_so_far();              \
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

/* Sent by all processes for a call: `exactly` so many. */
#define EXACTLY(exactly, call)               \
  do {                                       \
    MPI_Count before_ = sent_so_far();       \
    OK(call);                                \
    CHECK(sent_since(before_) == (exactly)); \
  } while (0)

static int wait_for(int code, MPI_Request* request) {
  return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

static int start_and_wait(MPI_Request* request) { return wait_for(MPI_Start(request), request); }

/* All neighbourhood forms on a communicator whose members have `edges` neighbours each: one message
 * from each process to each that an edge leads to, `between` in all, however many ranks and
 * edges. */
static void neighborhood(MPI_Comm comm, int edges, MPI_Count between) {
  enum { kMost = 64 };
  int in[kMost] = {0}, out[kMost], ones[kMost], displs[kMost];
  MPI_Aint bytes[kMost];
  MPI_Datatype types[kMost];
  MPI_Request request;
  CHECK(edges <= kMost);
  for (int i = 0; i < edges; ++i) {
    ones[i] = 1;
    displs[i] = i;
    bytes[i] = i * (MPI_Aint)sizeof(int);
    types[i] = MPI_INT;
  }
  EXACTLY(between, MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm));
  EXACTLY(between, MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, ones, displs, MPI_INT, comm));
  EXACTLY(between, MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm));
  EXACTLY(between,
          MPI_Neighbor_alltoallv(in, ones, displs, MPI_INT, out, ones, displs, MPI_INT, comm));
  EXACTLY(between, MPI_Neighbor_alltoallw(in, ones, bytes, types, out, ones, bytes, types, comm));
  EXACTLY(between, wait_for(MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &request),
                            &request));
  OK(MPI_Neighbor_allgather_init(in, 1, MPI_INT, out, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
  for (int i = 0; i < 3; ++i) EXACTLY(between, start_and_wait(&request));
  OK(MPI_Request_free(&request));
}

static void neighborhoods(int rank, int size, int processes) {
  /* A closed ring: each process has one to either side. */
  int periods[1] = {1};
  MPI_Comm ring, graph;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &ring));
  neighborhood(ring, 2, processes == 1 ? 0 : processes == 2 ? 2 : 2 * processes);
  OK(MPI_Comm_free(&ring));
  /* Everybody to sixteen others spread over the world, and twice to the next. */
  int to[18], from[18];
  for (int i = 0; i < 16; ++i) {
    to[i] = (rank + i * size / 16) % size;
    from[i] = (rank + size - i * size / 16) % size;
  }
  to[16] = to[17] = (rank + 1) % size;
  from[16] = from[17] = (rank + size - 1) % size;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 18, from, MPI_UNWEIGHTED, 18, to,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  neighborhood(graph, 18, (MPI_Count)processes * (processes - 1));
  OK(MPI_Comm_free(&graph));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size, processes, value[2] = {1, 2};
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Get_n_size(&processes));
  int first;
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPI_Comm_split(MPI_COMM_WORLD, first, rank, &here));
  int* all = malloc(sizeof(int) * (size_t)size);

  MPI_Count before = sent_so_far();
  OK(MPI_Bcast(value, 2, MPI_INT, size / 2, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);

  before = sent_so_far();
  OK(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);
  for (int r = 0; rank == 0 && r < size; ++r) CHECK(all[r] == r);

  before = sent_so_far();
  OK(MPI_Scatter(all, 1, MPI_INT, value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);
  CHECK(value[0] == rank);

  before = sent_so_far();
  OK(MPI_Reduce(&rank, value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  CHECK(sent_since(before) == processes - 1);

  before = sent_so_far();
  OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD));
  CHECK(sent_since(before) <= (MPI_Count)processes * (processes - 1));

  all_the_others(rank, size, processes);
  neighborhoods(rank, size, processes);

  MPIX_Stats_values values;
  OK(MPIX_Stats(&values));
  CHECK(values.collectives > 0 && values.frames >= 0 && (processes == 1 || values.frame_bytes > 0));
  free(all);
  OK(MPI_Comm_free(&here));
  return finish();
}
