/* Programs with one kind of choice each and a number of executions that is counted by hand; the
   first argument says which (choices.sh). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int me, all, values[8];
static MPI_Request requests[8];
static MPI_Status statuses[8];

static void send_me(int to, int tag) { MPI_Send(&me, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }
static int receive_any(int tag) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}
static void receive(int source) {
  MPI_Recv(values, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void begin_receives(void) {
  for (int i = 1; i < all; ++i)
    MPI_Irecv(&values[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[i - 1]);
}

/* The first receive takes tag 1 of either rank; behind rank 1's there are two orders, behind rank
 * 2's one. 3. */
static void tags(void) {
  if (me == 0) receive_any(1), receive_any(MPI_ANY_TAG), receive_any(MPI_ANY_TAG);
  if (me == 1) send_me(0, 1), send_me(0, 2);
  if (me == 2) send_me(0, 1);
}

/* Rank 0 and then rank 3 receive two messages in any order. 4. */
static void chain(void) {
  if (me == 0 || me == 3) receive_any(0), receive_any(0);
  if (me == 0 || me == 4) send_me(3, 0);
  if (me == 1 || me == 2) send_me(0, 0);
}

/* A persistent receive, started for each sender: n!. */
static void persistent(void) {
  if (me > 0) return send_me(0, 0);
  MPI_Recv_init(values, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
  for (int i = 1; i < all; ++i) {
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], &statuses[0]);
  }
  MPI_Request_free(&requests[0]);
}

/* The remote group of an intercommunicator sends: n!. */
static void remote(void) {
  MPI_Comm mine, both;
  MPI_Comm_split(MPI_COMM_WORLD, me > 0, me, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, me == 0, 7, &both);
  if (me > 0) MPI_Send(&me, 1, MPI_INT, 0, 0, both);
  for (int i = 1; me == 0 && i < all; ++i)
    MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, 0, both, &statuses[0]);
  MPI_Comm_free(&both);
  MPI_Comm_free(&mine);
}

/* None, or either of two. 3. */
static void testany(void) {
  int index, flag;
  if (me > 0) return send_me(0, 0);
  begin_receives();
  MPI_Testany(2, requests, &index, &flag, &statuses[0]);
  printf("%d %d\n", flag, index);
  MPI_Waitall(2, requests, statuses);
}

/* A synchronous send or a receive is complete first. 2. */
static void waitany_of_both(void) {
  int index;
  if (me == 1) receive(0);
  if (me == 2) send_me(0, 0);
  if (me > 0) return;
  MPI_Issend(&me, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(values, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitany(2, requests, &index, &statuses[0]);
  MPI_Waitall(2, requests, statuses);
}

/* Nothing, or the message of either rank; then they are received by their ranks. 3. */
static void iprobe(void) {
  int flag;
  if (me > 0) return send_me(0, 0);
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &statuses[0]);
  receive(1);
  receive(2);
}

/* Nothing, and then two orders; or the message of either rank, and the other one. 4. */
static void improbe(void) {
  int flag;
  MPI_Message message;
  if (me > 0) return send_me(0, 0);
  MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &message, &statuses[0]);
  if (flag) MPI_Mrecv(values, 1, MPI_INT, &message, &statuses[0]);
  receive_any(0);
  if (!flag) receive_any(0);
}

/* A ring of sends before their receives: one is buffered, or none is, a deadlock. 2. */
static void ring(void) {
  send_me((me + 1) % all, 0);
  receive((me + all - 1) % all);
}

/* Rank 1 leaves a collective with root 0 before rank 2 comes, and its message may be first or
   second there; or it does not leave, a deadlock. 3. */
static void leave(int gathers) {
  int sum;
  if (me == 3) send_me(2, 0);
  if (me == 2) receive_any(0), receive_any(0);
  if (gathers)
    MPI_Gather(&me, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 1) send_me(2, 0);
}

/* Sums of floating-point numbers depend on their order, of integers they do not: n! and 1. */
static void sums(MPI_Datatype type) {
  double* memory;
  MPI_Win window;
  union {
    double d;
    int i;
  } one = {0};
  MPI_Win_allocate(sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Win_fence(0, window);
  if (me > 0) MPI_Accumulate(&one, 1, type, 0, 0, 1, type, MPI_SUM, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  const char* which = argc > 1 ? argv[1] : "tags";
  if (!strcmp(which, "tags")) tags();
  if (!strcmp(which, "chain")) chain();
  if (!strcmp(which, "persistent")) persistent();
  if (!strcmp(which, "remote")) remote();
  if (!strcmp(which, "testany")) testany();
  if (!strcmp(which, "waitany_of_both")) waitany_of_both();
  if (!strcmp(which, "iprobe")) iprobe();
  if (!strcmp(which, "improbe")) improbe();
  if (!strcmp(which, "ring")) ring();
  if (!strcmp(which, "leave_gather")) leave(1);
  if (!strcmp(which, "leave_reduce")) leave(0);
  if (!strcmp(which, "sums_of_doubles")) sums(MPI_DOUBLE);
  if (!strcmp(which, "sums_of_integers")) sums(MPI_INT);
  MPI_Finalize();
  return 0;
}
