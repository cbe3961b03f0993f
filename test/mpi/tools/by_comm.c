/* Counters of a communicator: messages and bytes by way, and runs of algorithms, of a program whose
   traffic is known. They count from their start to their stop, and what goes over other
   communicators is not among them. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

enum { kSteps = 10, kBytes = 700 };

static MPI_T_pvar_session session;
static MPI_Comm copy;

static MPI_T_pvar_handle open_variable(const char* name) {
  int index, count, continuous, bind;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL,
                         &continuous, NULL));
  CHECK(bind == MPI_T_BIND_MPI_COMM && !continuous);
  OK(MPI_T_pvar_handle_alloc(session, index, &copy, &handle, &count));
  CHECK(count == 1);
  return handle;
}
static unsigned long long value_of(MPI_T_pvar_handle handle) {
  unsigned long long value;
  OK(MPI_T_pvar_read(session, handle, &value));
  return value;
}

static int rank, size, first, here;
static int is_here(int other) { return other >= first && other < first + here; }

/* A message to either neighbour by each kind of send: two blocking ones, two nonblocking ones, two
 * persistent ones. */
static void exchange(MPI_Comm comm) {
  const int to[2] = {(rank + 1) % size, (rank + size - 1) % size};
  char out[kBytes] = "x", in[6][kBytes];
  MPI_Request requests[10];
  for (int i = 0; i < 6; ++i)
    OK(MPI_Irecv(in[i], kBytes, MPI_CHAR, to[1 - i % 2], i, comm, &requests[i]));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Send(out, kBytes, MPI_CHAR, to[i], i, comm));
    OK(MPI_Isend(out, kBytes, MPI_CHAR, to[i], 2 + i, comm, &requests[6 + i]));
    OK(MPI_Send_init(out, kBytes, MPI_CHAR, to[i], 4 + i, comm, &requests[8 + i]));
    OK(MPI_Start(&requests[8 + i]));
  }
  OK(MPI_Waitall(10, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[8 + i]));
  OK(MPI_Send(out, kBytes, MPI_CHAR, MPI_PROC_NULL, 0, comm)); /* is no message */
}

static void messages(void) {
  static const char* const kNames[3][2] = {{"comm_local_messages", "comm_local_bytes"},
                                           {"comm_shared_messages", "comm_shared_bytes"},
                                           {"comm_network_messages", "comm_network_bytes"}};
  const char* transport = getenv("FGMPI_TRANSPORT");
  const int outside = transport && strcmp(transport, "ofi") == 0 ? 2 : 1;
  MPI_T_pvar_handle handles[3][2];
  for (int way = 0; way < 3; ++way)
    for (int i = 0; i < 2; ++i) handles[way][i] = open_variable(kNames[way][i]);
  exchange(copy); /* not started */
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  for (int step = 0; step < kSteps; ++step) {
    exchange(copy);
    exchange(MPI_COMM_WORLD);
  }
  OK(MPI_T_pvar_stop(session, handles[0][0]));
  OK(MPI_T_pvar_stop(session, handles[outside][0]));
  exchange(copy);
  const unsigned long long near =
      (unsigned)(is_here((rank + 1) % size) + is_here((rank + size - 1) % size));
  for (int way = 0; way < 3; ++way) {
    const unsigned long long each = 3 * (way == 0 ? near : way == outside ? 2 - near : 0);
    CHECK(value_of(handles[way][0]) == each * kSteps);
    CHECK(value_of(handles[way][1]) == each * (kSteps + 1) * kBytes);
  }
  /* A variable can be set, and goes on from there. */
  unsigned long long value = 1000;
  OK(MPI_T_pvar_write(session, handles[0][0], &value));
  exchange(copy);
  CHECK(value_of(handles[0][0]) == 1000);
  OK(MPI_T_pvar_start(session, handles[0][0]));
  exchange(copy);
  CHECK(value_of(handles[0][0]) == 1000 + 3 * near);
  OK(MPI_T_pvar_readreset(session, handles[0][0], &value));
  CHECK(value == 1000 + 3 * near && value_of(handles[0][0]) == 0);
  for (int way = 0; way < 3; ++way)
    for (int i = 0; i < 2; ++i) OK(MPI_T_pvar_handle_free(session, &handles[way][i]));
}

/* Up to eight processes a barrier is by dissemination and a sum of a few bytes by recursive
   doubling; within a process there is no algorithm. */
static void algorithms(void) {
  const unsigned long long runs = here == size ? 0 : 1;
  MPI_T_pvar_handle barriers = open_variable("comm_barrier_dissemination"),
                    sums = open_variable("comm_allreduce_recursive_doubling"),
                    rings = open_variable("comm_allreduce_ring");
  int one = 1, sum, whole, index, count;
  unsigned long long before;
  MPI_T_pvar_handle all;
  OK(MPI_T_pvar_get_index("barrier_dissemination", MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &all, &count));
  OK(MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &whole,
                         NULL));
  CHECK(whole);
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* nobody begins before all have their handles */
  before = value_of(all);
  OK(MPI_T_pvar_start(session, barriers));
  OK(MPI_T_pvar_start(session, sums));
  OK(MPI_T_pvar_start(session, rings));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 5; ++i) OK(MPI_Barrier(copy));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy));
    CHECK(sum == size);
  }
  CHECK(value_of(barriers) == 5 * runs && value_of(sums) == 3 * runs && value_of(rings) == 0);
  CHECK(value_of(all) - before >= 5 * runs);
  OK(MPI_T_pvar_handle_free(session, &barriers));
  OK(MPI_T_pvar_handle_free(session, &sums));
  /* A communicator that goes before its variable. */
  OK(MPI_Comm_free(&copy));
  CHECK(MPI_T_pvar_read(session, rings, &before) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_stop(session, rings));
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPIX_Get_collocated_size(&here));
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  messages();
  algorithms();
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return finish();
}
