/* Generalized requests and error handlers of several threads: callbacks see their rank's variables,
 * whichever thread they run on, and requests that one thread starts are completed by another and
 * waited for by a third. */
#include "threads.h"

enum { kRounds = 10 };

static int rank, size, threads;
static MPI_Comm comms[kMostThreads];
static int queries[kMostThreads], frees[kMostThreads], errors[kMostThreads];

static int query(void* state, MPI_Status* status) {
  int* thread = state;
  ++queries[*thread];
  OK(MPI_Status_set_elements(status, MPI_INT, rank));
  OK(MPI_Status_set_cancelled(status, 0));
  status->MPI_SOURCE = rank;
  status->MPI_TAG = *thread;
  return MPI_SUCCESS;
}
static int free_state(void* state) {
  ++frees[*(int*)state];
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  int me, class;
  OK(MPI_Comm_rank(*comm, &me)); /* a call from the callback */
  CHECK(me == rank);
  OK(MPI_Error_class(*code, &class));
  CHECK(class == MPI_ERR_RANK);
  for (int t = 0; t < threads; ++t)
    if (*comm == comms[t]) ++errors[t];
}

static void* complete(void* argument) {
  MPI_Request request = *(MPI_Request*)argument;
  int token;
  /* After a message of this thread's rank: the waiting thread has to sleep. */
  OK(MPI_Recv(&token, 1, MPI_INT, rank, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Grequest_complete(request));
  return NULL;
}

static void work(int thread) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request request;
    MPI_Status status;
    pthread_t completer;
    int count = -1;
    OK(MPI_Grequest_start(query, free_state, cancel, &thread, &request));
    MPI_Request handle = request;
    CHECK(pthread_create(&completer, NULL, complete, &handle) == 0);
    OK(MPI_Send(&thread, 1, MPI_INT, rank, 50, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == thread);
    OK(MPI_Get_elements(&status, MPI_INT, &count));
    CHECK(count == rank);
    CHECK(pthread_join(completer, NULL) == 0);
    CHECK(MPI_Send(&thread, 1, MPI_INT, size + thread, 1, comms[thread]) != MPI_SUCCESS);
  }
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  init_threads(&argc, &argv);
  threads = threads_of_shape();
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_create_errhandler(on_error, &handler));
  for (int t = 0; t < threads; ++t) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    OK(MPI_Comm_set_errhandler(comms[t], handler));
  }
  run_threads(threads, work);
  for (int t = 0; t < threads; ++t) {
    CHECK(queries[t] == kRounds && frees[t] == kRounds && errors[t] == kRounds);
    OK(MPI_Comm_free(&comms[t]));
  }
  OK(MPI_Errhandler_free(&handler));
  return finish();
}
