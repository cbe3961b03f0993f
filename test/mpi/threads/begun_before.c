/* A call that began before threads were enabled runs alone in the library until its end, also after
 * a function of the user's that it calls has called MPI: rank 1 waits for requests, one of them
 * rank 0's to complete, which is granted MPI_THREAD_MULTIPLE meanwhile. Then one query function of
 * rank 1 calls MPI, and the next one takes its time, during which no error handler of rank 0's
 * thread may run. Both ranks are of one process, where addresses are the same. */
#include <stdatomic.h>
#include <unistd.h>

#include "threads.h"

typedef struct {
  atomic_int busy, overlaps, calls, stop;
} Shared;

static Shared* shared; /* rank 0's */

static int query_that_calls(void* state, MPI_Status* status) {
  int rank, flag;
  (void)state;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
  CHECK(rank == 1 && !flag);
  OK(MPI_Status_set_elements(status, MPI_INT, 1));
  return MPI_SUCCESS;
}

static int query_that_computes(void* state, MPI_Status* status) {
  Shared* s = *(Shared**)state;
  OK(MPI_Status_set_elements(status, MPI_INT, 2));
  atomic_store(&s->busy, 1);
  for (double end = MPI_Wtime() + 0.05; MPI_Wtime() < end;) continue;
  atomic_store(&s->busy, 0);
  return MPI_SUCCESS;
}

static int free_state(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  if (atomic_load(&shared->busy)) atomic_fetch_add(&shared->overlaps, 1);
  atomic_fetch_add(&shared->calls, 1);
}

static void* call_handlers(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  while (!atomic_load(&shared->stop)) OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  return NULL;
}

static void rank_0(void) {
  MPI_Errhandler handler;
  MPI_Comm comm;
  MPI_Info info;
  MPI_Session session;
  pthread_t thread;
  int done;
  shared = calloc(1, sizeof *shared);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_errhandler(on_error, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  usleep(20000); /* rank 1 waits by now */
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
  CHECK(pthread_create(&thread, NULL, call_handlers, &comm) == 0);
  while (atomic_load(&shared->calls) == 0) usleep(1000);
  OK(MPI_Send(&shared, sizeof shared, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  OK(MPI_Recv(&done, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const int before = atomic_load(&shared->calls);
  while (atomic_load(&shared->calls) == before) usleep(1000);
  atomic_store(&shared->stop, 1);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(atomic_load(&shared->overlaps) == 0);
  OK(MPI_Session_finalize(&session));
  OK(MPI_Info_free(&info));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_free(&comm));
  free(shared);
}

static void rank_1(void) {
  Shared* address = NULL;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int count;
  OK(MPI_Irecv(&address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Grequest_start(query_that_calls, free_state, cancel, NULL, &requests[1]));
  OK(MPI_Grequest_start(query_that_computes, free_state, cancel, &address, &requests[2]));
  OK(MPI_Grequest_complete(requests[1]));
  OK(MPI_Grequest_complete(requests[2]));
  OK(MPI_Waitall(3, requests, statuses));
  OK(MPI_Get_elements(&statuses[2], MPI_INT, &count));
  CHECK(count == 2);
  OK(MPI_Send(&count, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (rank == 0) rank_0();
  if (rank == 1) rank_1();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
