/* Small operations of many ranks on memory of rank 0, and small messages to it, of any MPI:
 * microseconds each, from the first one's beginning until all have ended.
 *
 *   FGMPI_TRANSPORT=ofi mpiexec -n 2 network_rates       by sockets, all processes on this host
 *   mpiexec -n 2 network_rates                           by shared memory
 *   mpiexec.hydra -n 2 network_rates_mpich               the host MPICH (built with mpicc.mpich)
 *
 * network_rates FACTOR [CASE...]: FACTOR times as many operations, 1 is some seconds over sockets;
 * only these cases. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static MPI_Win win;
static long* memory;
enum { kWords = 1024 };

static void fetch_one_by_one(long count) {
  long one = 1, before;
  for (long i = 0; i < count; i++) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
}
static void swap_one_by_one(long count) {
  long expected = 0, wanted = 0, before;
  for (long i = 0; i < count; i++) {
    MPI_Compare_and_swap(&wanted, &expected, &before, MPI_LONG, 0, 1, win);
    MPI_Win_flush(0, win);
  }
}
static void get_many(long count) {
  static long got[kWords];
  for (long i = 0; i < count; i++)
    MPI_Get(&got[i % kWords], 1, MPI_LONG, 0, i % kWords, 1, MPI_LONG, win);
  MPI_Win_flush(0, win);
}
static void accumulate_many(long count) {
  long one = 1;
  for (long i = 0; i < count; i++)
    MPI_Accumulate(&one, 1, MPI_LONG, 0, i % kWords, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_flush(0, win);
}
static void lock_epochs(long count, int type) {
  long one = 1;
  for (long i = 0; i < count; i++) {
    MPI_Win_lock(type, 0, 0, win);
    MPI_Put(&one, 1, MPI_LONG, 0, rank % kWords, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
}
static void shared_epochs(long count) { lock_epochs(count, MPI_LOCK_SHARED); }
static void exclusive_epochs(long count) { lock_epochs(count, MPI_LOCK_EXCLUSIVE); }

enum { kBatch = 1000 };
static void isend_flood(long count) {
  static MPI_Request requests[kBatch];
  static int values[kBatch];
  for (long done = 0; done < count; done += kBatch) {
    for (int i = 0; i < kBatch; i++)
      MPI_Isend(&values[i], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kBatch, requests, MPI_STATUSES_IGNORE);
  }
}
static void send_flood(long count) {
  int value = 0;
  for (long i = 0; i < count; i++) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}
static void take_all(long count) {
  int value;
  for (long i = 0; i < count; i++)
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void take_in_order(long count) {
  int value;
  for (int source = 1; source < size; source++)
    for (long i = 0; i < count / (size - 1); i++)
      MPI_Recv(&value, 1, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void ssend_flood(long count) {
  int value = 0;
  for (long i = 0; i < count; i++) MPI_Ssend(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}
static void barriers(long count) {
  for (long i = 0; i < count; i++) MPI_Barrier(MPI_COMM_WORLD);
}
static void barriers_of_all(long count) { barriers(count / (size - 1)); }
static void ping_pong(long count) {
  int value = 0;
  for (long i = 0; i < count; i++) {
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
static void answer_all(long count) {
  int value;
  for (long i = 0; i < count; i++) {
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
  }
}

static const struct {
  const char* name;
  long count; /* of operations, by all ranks */
  enum { kWaits, kLocks, kMessages } kind;
  void (*origin)(long count);
  void (*target)(long count); /* of kMessages */
} cases[] = {
    {"fetch", 20000, kLocks, fetch_one_by_one, NULL},
    {"swap", 20000, kLocks, swap_one_by_one, NULL},
    {"gets", 200000, kLocks, get_many, NULL},
    {"accumulates", 200000, kLocks, accumulate_many, NULL},
    {"shared", 10000, kWaits, shared_epochs, NULL},
    {"exclusive", 10000, kWaits, exclusive_epochs, NULL},
    {"pingpong", 20000, kMessages, ping_pong, answer_all},
    {"isends", 200000, kMessages, isend_flood, take_all},
    {"sends", 200000, kMessages, send_flood, take_all},
    {"ordered", 200000, kMessages, send_flood, take_in_order},
    {"ssends", 20000, kMessages, ssend_flood, take_all},
    {"barriers", 20000, kMessages, barriers, barriers_of_all},
};

static double time_of(int which, double factor) {
  long each = (long)(cases[which].count * factor / (size - 1));
  each -= each % kBatch;
  if (each < kBatch) each = kBatch;
  const long all = each * (size - 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank == 0) {
    if (cases[which].kind == kMessages) cases[which].target(all);
  } else {
    if (cases[which].kind == kLocks) MPI_Win_lock_all(0, win);
    cases[which].origin(each);
    if (cases[which].kind == kLocks) MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - start) / all * 1e6;
}

static int is_wanted(const char* name, int argc, char** argv) {
  if (argc < 3) return 1;
  for (int i = 2; i < argc; i++)
    if (!strcmp(argv[i], name)) return 1;
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double factor = argc > 1 ? atof(argv[1]) : 1;
  MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  memset(memory, 0, kWords * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; size > 1 && i < (int)(sizeof cases / sizeof *cases); i++) {
    if (!is_wanted(cases[i].name, argc, argv)) continue;
    const double t = time_of(i, factor);
    if (rank == 0) printf("%-12s %9.2f us\n", cases[i].name, t), fflush(stdout);
  }
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
