/* Ranks that go from process to process (FGMPI_BALANCE) while they exchange with neighbours by wildcards, probes, persistent and
 * partitioned requests, communicators and types of their own, collectives that are under way, windows and a file. What they get does
 * not depend on where they are. With an argument, ranks must have been in several processes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kSteps = 40, kCells = 500 };

static int rank, size, left, right;

#define CHECK(holds)                                                                      \
  do {                                                                                    \
    if (!(holds)) {                                                                       \
      fprintf(stderr, "%s:%d: rank %d: expected " #holds "\n", __FILE__, __LINE__, rank); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                       \
    }                                                                                     \
  } while (0)

static int value(int from, int step, int cell) { return from * 100000 + step * 1000 + cell; }

/* Both neighbours send; receives by MPI_ANY_SOURCE and MPI_ANY_TAG take the messages of one step, in the order of each neighbour. */
static void exchange_with_wildcards(MPI_Comm comm, int step) {
  static int out[2][kCells], in[4][kCells];
  MPI_Request requests[8];
  const int cells = step % 7 == 0 ? kCells : 1 + step;
  for (int i = 0; i < 4; ++i)
    MPI_Irecv(in[i], kCells, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < cells; ++i) out[turn][i] = value(rank, step, i + turn);
    MPI_Isend(out[turn], cells, MPI_INT, left, turn, comm, &requests[4 + 2 * turn]);
    MPI_Issend(out[turn], cells, MPI_INT, right, turn, comm, &requests[5 + 2 * turn]);
  }
  MPI_Status statuses[8];
  MPI_Waitall(8, requests, statuses);
  int next[2] = {0, 0}; /* by side: the tag that comes next from this neighbour */
  int seen = 0;
  for (int i = 0; i < 4; ++i) {
    const int from = statuses[i].MPI_SOURCE, turn = statuses[i].MPI_TAG;
    int count = 0;
    MPI_Get_count(&statuses[i], MPI_INT, &count);
    CHECK(count == cells && (from == left || from == right));
    for (int k = 0; k < cells; ++k) CHECK(in[i][k] == value(from, step, k + turn));
    if (left != right) CHECK(turn == next[from == right]++);
    seen += 1 + turn;
  }
  CHECK(seen == 6);
  MPI_Barrier(comm);
}

/* A message that is probed, matched, or received with a type of its own. */
static void probe(MPI_Comm comm, int step) {
  int out[6], in[6] = {-1, -1, -1, -1, -1, -1}, flag = 0;
  for (int i = 0; i < 6; ++i) out[i] = value(rank, step, i);
  MPI_Datatype pairs;
  MPI_Type_vector(3, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Request request;
  MPI_Isend(out, 1, pairs, right, step, comm, &request);
  MPI_Status status;
  if (step % 2) {
    MPI_Message message;
    while (!flag) MPI_Improbe(MPI_ANY_SOURCE, step, comm, &flag, &message, &status);
    MPI_Mrecv(in, 1, pairs, &message, &status);
  } else {
    MPI_Probe(left, MPI_ANY_TAG, comm, &status);
    CHECK(status.MPI_TAG == step);
    MPI_Recv(in, 1, pairs, status.MPI_SOURCE, step, comm, &status);
  }
  CHECK(status.MPI_SOURCE == left);
  for (int i = 0; i < 6; ++i) CHECK(in[i] == (i % 2 ? -1 : value(left, step, i)));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&pairs);
}

/* Collectives, blocking and under way, with an operation of the program's. */
static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((long*)inout)[i] += ((long*)in)[i];
}

static void collect(MPI_Comm comm, MPI_Op op, int step) {
  long mine[3] = {rank, step, 1}, sums[3] = {0}, later[3] = {0};
  int* all = malloc(sizeof(int) * (size_t)size);
  MPI_Request requests[2];
  MPI_Iallreduce(mine, later, 3, MPI_LONG, op, comm, &requests[0]);
  MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[1]);
  MPI_Allreduce(mine, sums, 3, MPI_LONG, op, comm);
  long from_root = rank == step % size ? step * 7L : 0;
  MPI_Bcast(&from_root, 1, MPI_LONG, step % size, comm);
  CHECK(from_root == step * 7L);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(sums[0] == (long)size * (size - 1) / 2 && sums[1] == (long)size * step && sums[2] == size);
  CHECK(!memcmp(sums, later, sizeof sums));
  for (int i = 0; i < size; ++i) CHECK(all[i] == i);
  free(all);
}

/* Persistent and partitioned requests, which are started again and again. */
static void repeat(MPI_Comm comm, int rounds) {
  static int out[8], in[8], parts_out[8], parts_in[8];
  MPI_Request requests[4];
  MPI_Send_init(out, 8, MPI_INT, right, 900, comm, &requests[0]);
  MPI_Recv_init(in, 8, MPI_INT, left, 900, comm, &requests[1]);
  MPI_Psend_init(parts_out, 4, 2, MPI_INT, right, 901, comm, MPI_INFO_NULL, &requests[2]);
  MPI_Precv_init(parts_in, 2, 4, MPI_INT, left, 901, comm, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 8; ++i) out[i] = parts_out[i] = value(rank, round, i);
    MPI_Startall(4, requests);
    MPI_Pready_range(0, 3, requests[2]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; ++i) CHECK(in[i] == value(left, round, i) && parts_in[i] == in[i]);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
}

/* A window of the rank's memory, by fences and by locks. */
static void put(MPI_Comm comm, int rounds) {
  int cells[2] = {-1, 0}, one = 1;
  MPI_Win win;
  MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, comm, &win);
  MPI_Win_fence(0, win);
  for (int round = 0; round < rounds; ++round) {
    const int mine = value(rank, round, 0);
    MPI_Put(&mine, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(cells[0] == value(left, round, 0));
    if (rank == 0) CHECK(cells[1] == (round + 1) * size);
    MPI_Win_fence(0, win);
  }
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  const pid_t home = (pid_t)syscall(SYS_getpid);
  int elsewhere = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm duplicate;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (int step = 0; step < kSteps; ++step) {
    exchange_with_wildcards(step % 3 ? MPI_COMM_WORLD : duplicate, step);
    probe(duplicate, step);
    elsewhere += (pid_t)syscall(SYS_getpid) != home;
    collect(step % 2 ? duplicate : MPI_COMM_WORLD, op, step);
  }
  repeat(duplicate, 10);
  put(MPI_COMM_WORLD, 5);
  MPI_Allreduce(&elsewhere, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1) CHECK(all > 0);
  MPI_Op_free(&op);
  MPI_Comm_free(&duplicate);
  MPI_Finalize();
  if (rank == 0) printf("No Errors\n");
  return 0;
}
