/* The counters of a program whose traffic is known by hand: a ring in which every rank sends so
   many bytes to both neighbours in each step. And levels: receives that wait, messages that have
   come, ranks that wait. */
#include <fgmpi.h>
#include <string.h>
#include <unistd.h>

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

/* Of ten receives that a rank has from itself the last matches: nine are looked at in vain. One
 * rank after the other. */
static void searches(void) {
  enum { kReceives = 10 };
  int rank, size;
  char in[kReceives], out = 'x';
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_T_pvar_handle searched = open_variable("matches_searched", MPI_T_PVAR_CLASS_COUNTER);
  for (int turn = 0; turn < size; ++turn) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (turn != rank) continue;
    MPI_Request requests[kReceives];
    for (int i = 0; i < kReceives; ++i)
      OK(MPI_Irecv(&in[i], 1, MPI_CHAR, rank, i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_T_pvar_reset(session, searched));
    OK(MPI_Send(&out, 1, MPI_CHAR, rank, kReceives - 1, MPI_COMM_WORLD));
    CHECK(value_of(searched) == kReceives - 1);
    for (int i = 0; i < kReceives - 1; ++i) /* each is the first */
      OK(MPI_Send(&out, 1, MPI_CHAR, rank, i, MPI_COMM_WORLD));
    CHECK(value_of(searched) == kReceives - 1);
    OK(MPI_Waitall(kReceives, requests, MPI_STATUSES_IGNORE));
  }
  OK(MPI_T_pvar_handle_free(session, &searched));
}

/* While a rank sleeps outside of MPI and the others wait for it, their process is idle. */
static void idle_time(int rank, int alone) {
  MPI_T_pvar_handle idle = open_variable("idle_time", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle polls = open_variable("polls", MPI_T_PVAR_CLASS_COUNTER);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const double begin = MPI_Wtime();
  OK(MPI_T_pvar_reset(session, idle));
  if (rank == 0)
    while (value_of(idle) < 20000000) usleep(10000);
  const unsigned long long spent = value_of(idle);
  CHECK((double)spent * 1e-9 <= 1.5 * (MPI_Wtime() - begin));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(alone || value_of(polls) > 0);
  OK(MPI_T_pvar_handle_free(session, &idle));
  OK(MPI_T_pvar_handle_free(session, &polls));
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
  MPI_T_pvar_handle frames = open_variable("frame_bytes", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle bytes = open_variable("local_bytes", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle outside_messages[2] = {
      open_variable("shared_messages", MPI_T_PVAR_CLASS_COUNTER),
      open_variable("network_messages", MPI_T_PVAR_CLASS_COUNTER)};
  MPI_T_pvar_handle outside_bytes[2] = {open_variable("shared_bytes", MPI_T_PVAR_CLASS_COUNTER),
                                        open_variable("network_bytes", MPI_T_PVAR_CLASS_COUNTER)};
  MPI_T_pvar_handle collective = open_variable("collective_messages", MPI_T_PVAR_CLASS_COUNTER);
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
  /* The first and the last rank of a process have a neighbour in another one. A barrier's messages
   * have no bytes. */
  const unsigned long long outside = alone ? 0 : 2 * kSteps;
  CHECK(value_of(messages) == 2ull * kSteps * (unsigned)here - outside);
  CHECK(value_of(bytes) == value_of(messages) * kBytes);
  CHECK(value_of(frames) == outside * kBytes);
  const char* transport = getenv("FGMPI_TRANSPORT");
  const int way = transport && strcmp(transport, "ofi") == 0;
  CHECK(value_of(outside_bytes[way]) == outside * kBytes && value_of(outside_bytes[!way]) == 0);
  CHECK(value_of(outside_messages[way]) == outside + value_of(collective));
  CHECK(value_of(outside_messages[!way]) == 0);

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
  searches();
  idle_time(rank, alone);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == first) /* the others wait in the barrier, or are about to */
    while (level("parked_ranks") != (unsigned)here - 1) OK(MPIX_Yield());
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  OK(MPI_Finalize());
  return 0;
}
