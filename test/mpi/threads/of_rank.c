/* Functions of the user that MPI calls while several threads of each rank are in MPI find the
 * variables of their rank, and the thread_local variables of the thread that made the call, where
 * it runs them itself: attributes, error handlers, generalized requests, MPI_Reduce_local. An
 * operation of a reduction finds those of a thread of its rank. */
#include "threads.h"

enum { kRounds = 8 };

static int rank, size, threads, keyval, type_keyval;
static MPI_Comm comms[kMostThreads];
static _Thread_local int me = -1; /* 100 * rank + 1 + thread; main: 100 * rank */
static int of_operation = -1;     /* this rank's number, as its operation must find it */

static int copied(MPI_Comm comm, int key, void* extra, void* value, void* copy, int* flag) {
  (void)comm, (void)key, (void)extra;
  CHECK(me == *(int*)value && me / 100 == rank);
  *(void**)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}
static int deleted(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  CHECK(me == *(int*)value && me / 100 == rank);
  return MPI_SUCCESS;
}
static int type_copied(MPI_Datatype type, int key, void* extra, void* value, void* copy,
                       int* flag) {
  (void)type, (void)key, (void)extra;
  CHECK(me == *(int*)value);
  *(void**)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  int class, found;
  OK(MPI_Error_class(*code, &class));
  CHECK(class == MPI_ERR_TAG || class == MPI_ERR_RANK || class == MPI_ERR_COUNT);
  OK(MPI_Comm_rank(*comm, &found));
  CHECK(found == rank && me / 100 == rank);
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  CHECK(of_operation == rank);
  CHECK(me == -1 || me / 100 == rank); /* -1: a thread that has begun, and has not run yet */
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static int query(void* state, MPI_Status* status) {
  CHECK(me == *(int*)state);
  OK(MPI_Status_set_elements(status, MPI_INT, 1));
  OK(MPI_Status_set_cancelled(status, 0));
  return MPI_SUCCESS;
}
static int released(void* state) {
  CHECK(me == *(int*)state);
  return MPI_SUCCESS;
}
static int cancelled(void* state, int complete) {
  CHECK(me == *(int*)state && !complete);
  return MPI_SUCCESS;
}

static void work(int thread) {
  MPI_Comm comm = comms[thread];
  MPI_Op op;
  int mine = me = 100 * rank + 1 + thread;
  OK(MPI_Op_create(add, 1, &op));
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm copy;
    MPI_Datatype type;
    MPI_Request request;
    int sum, local[2] = {rank, thread}, sums[2] = {1, 1};
    OK(MPI_Comm_set_attr(comm, keyval, &mine));
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_delete_attr(comm, keyval));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, type_keyval, &mine));
    MPI_Datatype again;
    OK(MPI_Type_dup(type, &again));
    OK(MPI_Type_free(&again));
    OK(MPI_Type_free(&type));
    CHECK(MPI_Send(&sum, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS);
    CHECK(MPI_Bcast(&sum, -1, MPI_INT, 0, comm) != MPI_SUCCESS);
    OK(MPI_Reduce_local(local, sums, 2, MPI_INT, op));
    CHECK(sums[0] == 1 + rank && sums[1] == 1 + thread);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, comm));
    CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, op, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Scan(&rank, &sum, 1, MPI_INT, op, comm));
    CHECK(sum == rank * (rank + 1) / 2);
    OK(MPI_Grequest_start(query, released, cancelled, &mine, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(me == mine);
  }
  OK(MPI_Op_free(&op));
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  init_threads(&argc, &argv);
  threads = threads_of_shape();
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  me = 100 * rank;
  of_operation = rank;
  OK(MPI_Comm_create_keyval(copied, deleted, &keyval, NULL));
  OK(MPI_Type_create_keyval(type_copied, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL));
  OK(MPI_Comm_create_errhandler(on_error, &handler));
  for (int t = 0; t < threads; ++t) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    OK(MPI_Comm_set_errhandler(comms[t], handler));
  }
  run_threads(threads, work);
  CHECK(me == 100 * rank);
  for (int t = 0; t < threads; ++t) OK(MPI_Comm_free(&comms[t]));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Type_free_keyval(&type_keyval));
  OK(MPI_Comm_free_keyval(&keyval));
  return finish();
}
