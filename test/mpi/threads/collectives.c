/* One communicator a thread: collectives, blocking and nonblocking, and creation and freeing of
 * communicators, at once in all threads (MPI-4.0 sections 6.13 and 11.6). Attributes' functions run
 * with the right rank's variables. */
#include "threads.h"

enum { kRounds = 5 };

static int rank, size, threads, keyval, copies[kMostThreads];
static MPI_Comm comms[kMostThreads];
static __thread int mine = -1;

static int copied(MPI_Comm comm, int key, void* extra, void* value, void* copy, int* flag) {
  (void)comm, (void)key;
  CHECK(extra == &keyval && *(int*)value == rank);
  if (mine >= 0) ++copies[mine];
  *(void**)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static void larger(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
}

static void work(int thread) {
  MPI_Comm comm = comms[thread];
  MPI_Op op;
  mine = thread;
  OK(MPI_Op_create(larger, 1, &op));
  for (int round = 0; round < kRounds; ++round) {
    int sum = -1, value = rank + thread, root = round % size, from = rank == root ? thread : -1,
        most = -1;
    MPI_Request requests[2];
    MPI_Comm copy, part;
    OK(MPI_Barrier(comm));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2 + size * thread);
    OK(MPI_Allreduce(&value, &most, 1, MPI_INT, op, comm));
    CHECK(most == size - 1 + thread);
    OK(MPI_Bcast(&from, 1, MPI_INT, root, comm));
    CHECK(from == thread);
    sum = from = -1;
    OK(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
    OK(MPI_Ibarrier(comm, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == size * (size - 1) / 2 + size * thread);
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_split(copy, rank % 2, rank, &part));
    OK(MPI_Comm_free(&copy));
    int members = 0, one = 1;
    OK(MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, part));
    CHECK(members == (size + 1 - rank % 2) / 2);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_idup(comm, &copy, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&copy));
  }
  CHECK(copies[thread] >= kRounds);
  OK(MPI_Op_free(&op));
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &keyval, &keyval));
  static const int counts[] = {1, 2, 4, 8};
  for (int i = 0; i < 4; ++i) {
    threads = counts[i];
    for (int t = 0; t < threads; ++t) {
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
      OK(MPI_Comm_set_attr(comms[t], keyval, &rank));
      copies[t] = 0;
    }
    run_threads(threads, work);
    for (int t = 0; t < threads; ++t) OK(MPI_Comm_free(&comms[t]));
  }
  OK(MPI_Comm_free_keyval(&keyval));
  return finish();
}
