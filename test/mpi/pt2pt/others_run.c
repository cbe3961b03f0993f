/* A rank that makes call after call without ever having to wait lets the others of its process run: each loop here goes on
 * until another rank has done something, which it does without being waited for. */
#include "mpitest.h"

enum { kMostRanks = 4096 };

static int rank, size, x, y;
static MPI_Win win;        /* of one number each, in the memory of all ranks of the host */
static volatile int* turn; /* rank 0's: which loop the last rank has let it leave */

/* ---- One round of calls, none of which waits ----------------------------------------------------------------------*/

static MPI_Request requests[2];
static int flag;

static void receive_for_ever(void) {
  OK(MPI_Irecv(&x, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Request_free(&requests[0]));
}
static void send_to_self(void) {
  OK(MPI_Irecv(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Isend(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}
static void send_first(void) {
  OK(MPI_Send(&y, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
  OK(MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}
static void exchange(void) {
  OK(MPI_Sendrecv(&y, 1, MPI_INT, 0, 2, &x, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}
static void probe(void) { /* finds the message that main has sent */
  OK(MPI_Iprobe(0, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
  CHECK(flag);
}
static void test_none(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  OK(MPI_Test(&none, &flag, MPI_STATUS_IGNORE));
  CHECK(flag);
}
static void make_persistent(void) {
  OK(MPI_Send_init(&y, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Request_free(&requests[0]));
}
static void cancel(void) {
  OK(MPI_Irecv(&x, 1, MPI_INT, 0, 6, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Cancel(&requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}
static void put(void) {
  OK(MPI_Put(&y, 1, MPI_INT, rank, 1, 1, MPI_INT, win));
  OK(MPI_Win_flush(rank, win));
}
static void get(void) { OK(MPI_Get(&x, 1, MPI_INT, rank, 1, 1, MPI_INT, win)); }
static void add(void) {
  int one = 1;
  OK(MPI_Fetch_and_op(&one, &x, MPI_INT, rank, 1, MPI_SUM, win));
}
static void look_at_memory(void) { OK(MPI_Win_sync(win)); }
static void barrier_alone(void) { OK(MPI_Barrier(MPI_COMM_SELF)); }
static void reduce_alone(void) { OK(MPI_Allreduce(&y, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF)); }
static void broadcast_alone(void) { OK(MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_SELF)); }
static void duplicate_alone(void) {
  MPI_Comm made;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &made));
  OK(MPI_Comm_free(&made));
}
static int give_nothing(void* state, MPI_Status* status) {
  (void)state;
  OK(MPI_Status_set_elements(status, MPI_INT, 0));
  return MPI_Status_set_cancelled(status, 0);
}
static int free_nothing(void* state) { return (void)state, MPI_SUCCESS; }
static int cancel_nothing(void* state, int done) { return (void)state, (void)done, MPI_SUCCESS; }
static void generalized(void) {
  OK(MPI_Grequest_start(give_nothing, free_nothing, cancel_nothing, NULL, &requests[0]));
  OK(MPI_Grequest_complete(requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void (*const loops[])(void) = {receive_for_ever,
                                      send_to_self,
                                      send_first,
                                      exchange,
                                      probe,
                                      test_none,
                                      make_persistent,
                                      cancel,
                                      put,
                                      get,
                                      add,
                                      look_at_memory,
                                      barrier_alone,
                                      reduce_alone,
                                      broadcast_alone,
                                      duplicate_alone,
                                      generalized};
enum { kLoops = sizeof loops / sizeof *loops };

int main(int argc, char** argv) {
  MPI_Aint bytes;
  int unit, *mine, *of_0;
  MPI_Comm host;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  OK(MPI_Comm_rank(host, &rank));
  OK(MPI_Comm_size(host, &size));
  OK(MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, host, &mine, &win));
  OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &of_0));
  turn = of_0;
  mine[0] = mine[1] = 0;
  OK(MPI_Isend(&y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Barrier(host));
  if (size > 1 && rank == 0) {
    for (int i = 0; i < kLoops; i++)
      while (*turn <= i) loops[i]();
  } else if (size > 1 && rank == size - 1) {
    for (int i = 1; i <= kLoops; i++) {
      /* Some turns later. */
      for (int k = 0; k < 20; k++) OK(MPI_Iprobe(0, 9, host, &flag, MPI_STATUS_IGNORE));
      *turn = i;
    }
  }
  OK(MPI_Barrier(host));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Recv(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&host));
  return finish();
}
