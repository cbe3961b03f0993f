/* The counters of a program whose traffic is known by hand: a ring in which every rank sends so many bytes to both neighbours
   in each step. And levels: receives that wait, messages that have come, ranks that wait. */
#include <fgmpi.h>

#include "mpitest.h"

enum { kSteps = 20, kBytes = 1000 };

static MPI_T_pvar_session session;

/* What a handle counts begins when it is allocated. */
static MPI_T_pvar_handle open_variable(const char* name, int class) {
  int index, count;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, class, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  return handle;
}
static unsigned long long value_of(MPI_T_pvar_handle handle) {
  unsigned long long value;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}
static unsigned long long level(const char* name) {
  MPI_T_pvar_handle handle = open_variable(name, MPI_T_PVAR_CLASS_LEVEL);
  const unsigned long long value = value_of(handle);
  OK(MPI_T_pvar_handle_free(session, &handle));
  return value;
}

int main(int argc, char** argv) {
  int provided, rank, size, here, first;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Get_collocated_size(&here));
  OK(MPIX_Get_collocated_startrank(&first));
  const int left = (rank + size - 1) % size, right = (rank + 1) % size, alone = here == size;
  char out[kBytes] = "x", in[2][kBytes];

  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_T_pvar_handle messages = open_variable("local_messages", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle bytes = open_variable("frame_bytes", MPI_T_PVAR_CLASS_COUNTER);
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* nobody sends before all have read */
  for (int step = 0; step < kSteps; ++step) {
    MPI_Request requests[4];
    OK(MPI_Irecv(in[0], kBytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, requests));
    OK(MPI_Irecv(in[1], kBytes, MPI_CHAR, right, 2, MPI_COMM_WORLD, requests + 1));
    OK(MPI_Isend(out, kBytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, requests + 2));
    OK(MPI_Isend(out, kBytes, MPI_CHAR, left, 2, MPI_COMM_WORLD, requests + 3));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* The first and the last rank of a process have a neighbour in another one. A barrier's messages have no bytes. */
  const unsigned long long outside = alone ? 0 : 2 * kSteps;
  CHECK(value_of(messages) == 2ull * kSteps * (unsigned)here - outside);
  CHECK(value_of(bytes) == outside * kBytes);

  /* Levels. */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request posted[2];
  for (int i = 0; i < 2; ++i)
    OK(MPI_Irecv(in[i], kBytes, MPI_CHAR, rank, 3 + i, MPI_COMM_WORLD, posted + i));
  for (int i = 0; i < 3; ++i) OK(MPI_Send(out, 1, MPI_CHAR, rank, 9, MPI_COMM_WORLD));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(level("posted_receives") >= 2ull * (unsigned)here);
  CHECK(level("unexpected_messages") >= 3ull * (unsigned)here);
  CHECK(value_of(open_variable("lost_processes", MPI_T_PVAR_CLASS_COUNTER)) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 2; ++i) OK(MPI_Send(out, 1, MPI_CHAR, rank, 3 + i, MPI_COMM_WORLD));
  OK(MPI_Waitall(2, posted, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 3; ++i)
    OK(MPI_Recv(in[0], 1, MPI_CHAR, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(level("unexpected_messages") == 0 || !alone);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == first) /* the others wait in the barrier, or are about to */
    while (level("parked_ranks") != (unsigned)here - 1) OK(MPIX_Yield());
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  OK(MPI_Finalize());
  return 0;
}
