/* Programs in which it matters whether a standard send is buffered; the first argument says which
 * (sends.sh). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me;

static void send_me(int to) { MPI_Send(&me, 1, MPI_INT, to, 0, MPI_COMM_WORLD); }
static int receive(int source) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

/* Both send first: without buffers they wait for ever. 2. */
static void head_to_head(void) {
  if (me > 1) return;
  send_me(1 - me);
  receive(1 - me);
}

/* The same with MPI_Isend and MPI_Wait. 2. */
static void isend_wait(void) {
  MPI_Request request;
  if (me > 1) return;
  MPI_Isend(&me, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  receive(1 - me);
}

/* Correct: both receive while they wait. 1. */
static void isend_receive(void) {
  MPI_Request request;
  if (me > 1) return;
  MPI_Isend(&me, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, &request);
  receive(1 - me);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Correct: sent with a buffer of the program. 1. */
static void bsend(void) {
  int size;
  char buffer[1000];
  void* detached;
  if (me > 1) return;
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Bsend(&me, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD);
  receive(1 - me);
  MPI_Buffer_detach(&detached, &size);
}

/* Rank 2 can receive rank 0's message first only if rank 0's message to rank 1 is buffered: ends
 * with 3 then. */
static void slack(void) {
  if (me == 0) send_me(1), send_me(2);
  if (me == 1) send_me(2), receive(0);
  if (me != 2) return;
  if (receive(MPI_ANY_SOURCE) == 0) exit(3);
  receive(MPI_ANY_SOURCE);
}

/* A test finds the send complete (buffered, or received), or not. 2. */
static void test_send(void) {
  MPI_Request request;
  int flag;
  if (me == 1) receive(0);
  if (me > 0) return;
  MPI_Isend(&me, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  printf("%d\n", flag);
  if (!flag) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"head_to_head", head_to_head},
                  {"isend_wait", isend_wait},
                  {"isend_receive", isend_receive},
                  {"bsend", bsend},
                  {"slack", slack},
                  {"test_send", test_send}};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i)
    if (argc > 1 && !strcmp(argv[1], programs[i].name)) programs[i].run();
  MPI_Finalize();
  return 0;
}
