/* Ranks go from process to process (FGMPI_BALANCE) where all their calls are exchanges (MPI_Sendrecv, MPI_Sendrecv_replace), and
 * while they have not waited for a send or an exchange that is over. With an argument, ranks must have moved in each case. */
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kSteps = 200, kPolls = 4 };

static int rank, size, left, right, moves;
static long process;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void look(int counts) {
  const long now = syscall(SYS_getpid);
  if (counts) moves += now != process;
  process = now;
}

static void exchange(int step) {
  int out = rank + step, in = -1;
  MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  check(in == left + step, "what MPI_Sendrecv receives");
  look(1);
}

static MPI_Datatype strided;

static void replace(int step) {
  int both[3] = {rank + step, 7, rank + 2 * step};
  MPI_Sendrecv_replace(both, 1, strided, right, 0, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(both[0] == left + step && both[1] == 7 && both[2] == left + 2 * step,
        "what MPI_Sendrecv_replace receives");
  look(1);
}

/* Calls that wait for nothing, while a request is over. */
static void poll(void) {
  look(0);
  for (int i = 0; i < kPolls; ++i) {
    int flag;
    MPI_Iprobe(left, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    check(!flag, "a message that nobody has sent");
    look(1);
  }
}

static void send_and_wait_later(int step) {
  int out = rank + step, in = -1;
  MPI_Request request;
  MPI_Isend(&out, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &request);
  MPI_Recv(&in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(in == left + step, "what MPI_Isend has sent");
  poll();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange_and_wait_later(int step) {
  int out = rank + step, in = -1, flag = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Isendrecv(&out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
  while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  poll();
  MPI_Wait(&request, &status);
  check(in == left + step && status.MPI_SOURCE == left && status.MPI_TAG == 1,
        "what MPI_Isendrecv receives");
}

int main(int argc, char** argv) {
  static void (*const cases[])(int) = {exchange, replace, send_and_wait_later,
                                       exchange_and_wait_later};
  (void)argv;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  for (int c = 0; c < 4; ++c) {
    moves = 0;
    look(0);
    for (int step = 0; step < kSteps; ++step) cases[c](step);
    int all = 0;
    MPI_Allreduce(&moves, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("case %d: %d moves\n", c, all);
    if (argc > 1) check(all > 0, "no rank has moved");
  }
  MPI_Type_free(&strided);
  MPI_Finalize();
  return 0;
}
