/* Ranks that wait for long have their stacks packed. Buffers, requests, statuses and windows on the
 * stacks of waiting ranks get what is meant for them all the same. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "../mpitest.h"

enum { kWords = 50, kRounds = 5 };

static long packed_stacks(void) {
  int provided, count;
  unsigned long value = 0;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  int index, continuous;
  MPI_T_pvar_get_num(&count);
  OK(MPI_T_pvar_get_index("packed_stacks", MPI_T_PVAR_CLASS_LEVEL, &index));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &continuous));
  OK(MPI_T_pvar_read(session, handle, &value));
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return (long)value;
}

/* Each rank waits in a barrier while the others send into a buffer on its stack, and from one. */
static void receive_while_waiting(int rank, int size) {
  int in[kWords], out[kWords];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kWords; ++i) in[i] = -1, out[i] = rank * 1000 + i + round;
    MPI_Irecv(in, kWords, MPI_INT, left, round, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, kWords, MPI_INT, right, round, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(2, requests, statuses);
    for (int i = 0; i < kWords; ++i) CHECK(in[i] == left * 1000 + i + round);
    CHECK(statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == round);
  }
}

/* A token goes around: all but one wait in a receive. */
static void pass_token(int rank, int size) {
  long token = 0;
  MPI_Status status;
  if (rank == 0) MPI_Send(&token, 1, MPI_LONG, 1 % size, 0, MPI_COMM_WORLD);
  MPI_Recv(&token, 1, MPI_LONG, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &status);
  CHECK(token == (rank + size - 1) % size);
  ++token;
  if (rank != 0) MPI_Send(&token, 1, MPI_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD);
}

/* Collectives whose arguments are on the stack: the last member reads and writes those of all. */
static void meet(int rank, int size) {
  int mine[3] = {rank, 2 * rank, 3}, sums[3], *all = malloc(sizeof(int) * 3 * (size_t)size);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Allreduce(mine, sums, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == size * (size - 1) / 2 && sums[1] == 2 * sums[0] && sums[2] == 3 * size);
    MPI_Allgather(mine, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) CHECK(all[3 * r] == r && all[3 * r + 1] == 2 * r);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    int largest = -1;
    MPI_Request request;
    MPI_Iallreduce(&rank, &largest, 1, MPI_INT, MPI_MAX, half, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(largest == (size - 1 - rank % 2) / 2 * 2 + rank % 2);
    MPI_Comm_free(&half);
  }
  free(all);
}

/* Memory of a window on the stack, which others change while its rank waits. */
static void put_into_stack(int rank, int size) {
  long memory[4] = {0, 0, 0, 0};
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  const long value = rank + 1;
  MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window);
  MPI_Accumulate(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  CHECK(memory[0] == (rank + size - 1) % size + 1);
  if (rank == 0) CHECK(memory[1] == (long)size * (size + 1) / 2);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  receive_while_waiting(rank, size);
  pass_token(rank, size);
  meet(rank, size);
  /* Rank 0 looks while all others of its process wait. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const char* expected = getenv("EXPECT_PACKED");
    if (expected) CHECK(packed_stacks() >= atol(expected));
    for (int r = 1; r < size; ++r) MPI_Send(&r, 1, MPI_INT, r, 9, MPI_COMM_WORLD);
  } else {
    int told = 0;
    MPI_Recv(&told, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(told == rank);
  }
  put_into_stack(rank, size);
  return finish();
}
