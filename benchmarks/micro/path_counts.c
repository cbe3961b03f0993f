/* Paths through the library whose instructions path_counts.py counts: each is a loop of one kind of
 * call, between marks that callgrind understands.
 *
 *   path_counts [multiple] PATH...    under `valgrind --tool=callgrind`, without it only a run
 *
 * A PATH is a row of the table below. All ranks of the job run it: kFew times, then kMany times,
 * with a dump of callgrind's counts after each. The difference of the two dumps is what kMany - kFew
 * times cost all ranks of a process, so neither the beginning nor the end of a loop counts. The
 * paths `remote_send` and `remote_recv` are for two processes: the ends of messages are counted
 * apart, without the time in which one waits for the other. `multiple` asks for
 * MPI_THREAD_MULTIPLE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifndef CALLGRIND_ZERO_STATS
#define CALLGRIND_ZERO_STATS (void)0
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { kWarm = 10, kFew = 50, kMany = 150, kWindow = 64, kRemote = 16 };
static int rank, size;
static MPI_Comm world;
static char bytes[8], received[8];
static double doubles[16];
static MPI_Datatype gaps;
static MPI_Request requests[2 * kWindow];
static MPI_Win win;
static long* memory;

/* A message to the other rank and one back, so two messages. */
static void send_recv(int times) {
  for (int i = 0; i < times; i++) {
    if (rank == 0) {
      MPI_Send(bytes, 8, MPI_BYTE, 1, 0, world);
      MPI_Recv(bytes, 8, MPI_BYTE, 1, 0, world, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(bytes, 8, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
      MPI_Send(bytes, 8, MPI_BYTE, 0, 0, world);
    }
  }
}

static void send_recv_status(int times) {
  MPI_Status status;
  for (int i = 0; i < times; i++) {
    if (rank == 0) MPI_Send(bytes, 8, MPI_BYTE, 1, 0, world);
    MPI_Recv(bytes, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    if (rank == 1) MPI_Send(bytes, 8, MPI_BYTE, 0, 0, world);
  }
}

static void gaps_send_recv(int times) {
  for (int i = 0; i < times; i++) {
    if (rank == 0) MPI_Send(doubles, 1, gaps, 1, 0, world);
    MPI_Recv(doubles, 1, gaps, 1 - rank, 0, world, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(doubles, 1, gaps, 0, 0, world);
  }
}

static void probe_recv(int times) {
  for (int i = 0; i < times; i++) {
    if (rank == 0) MPI_Send(bytes, 8, MPI_BYTE, 1, 0, world);
    MPI_Probe(1 - rank, 0, world, MPI_STATUS_IGNORE);
    MPI_Recv(bytes, 8, MPI_BYTE, 1 - rank, 0, world, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes, 8, MPI_BYTE, 0, 0, world);
  }
}

static void sendrecv(int times) {
  for (int i = 0; i < times; i++)
    MPI_Sendrecv(bytes, 8, MPI_BYTE, 1 - rank, 0, received, 8, MPI_BYTE, 1 - rank, 0, world,
                 MPI_STATUS_IGNORE);
}

/* A window of messages one way, and one message back. */
static void isend_irecv_waitall(int times) {
  for (int t = 0; t < times; t++) {
    for (int i = 0; i < kWindow; i++) {
      if (rank == 0)
        MPI_Isend(bytes, 8, MPI_BYTE, 1, 1, world, &requests[i]);
      else
        MPI_Irecv(bytes, 8, MPI_BYTE, 0, 1, world, &requests[i]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
      MPI_Recv(bytes, 1, MPI_BYTE, 1, 2, world, MPI_STATUS_IGNORE);
    else
      MPI_Send(bytes, 1, MPI_BYTE, 0, 2, world);
  }
}

static void persistent(int times) {
  MPI_Request both[2];
  MPI_Recv_init(received, 8, MPI_BYTE, 1 - rank, 3, world, &both[0]);
  MPI_Send_init(bytes, 8, MPI_BYTE, 1 - rank, 3, world, &both[1]);
  for (int i = 0; i < times; i++) {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

/* A round trip in which each rank tests kWindow receives in vain before it goes on. */
static void testany_in_vain(int times) {
  int which, done;
  for (int i = 0; i < kWindow; i++)
    MPI_Irecv(received, 8, MPI_BYTE, 1 - rank, 4, world, &requests[i]);
  for (int i = 0; i < times; i++) {
    MPI_Testany(kWindow, requests, &which, &done, MPI_STATUS_IGNORE);
    send_recv(1);
  }
  for (int i = 0; i < kWindow; i++) MPI_Send(bytes, 8, MPI_BYTE, 1 - rank, 4, world);
  MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
}

static void barrier(int times) {
  for (int i = 0; i < times; i++) MPI_Barrier(world);
}

static void allreduce(int times) {
  long in = 1, out;
  for (int i = 0; i < times; i++) MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, world);
}

static void bcast(int times) {
  for (int i = 0; i < times; i++) MPI_Bcast(bytes, 8, MPI_BYTE, 0, world);
}

static void ibarrier_wait(int times) {
  for (int i = 0; i < times; i++) {
    MPI_Ibarrier(world, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
}

static void comm_split(int times) {
  for (int i = 0; i < times; i++) {
    MPI_Comm half;
    MPI_Comm_split(world, rank % 2, rank, &half);
    MPI_Comm_free(&half);
  }
}

/* Rank 0 alone; the other waits in the barrier behind the loop. */
static void put_flush(int times) {
  for (int i = 0; rank == 0 && i < times; i++) {
    MPI_Put(bytes, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win);
    MPI_Win_flush(1, win);
  }
}

/* Waits, outside of MPI, until the other process has written `value` into rank 0's memory. */
static void wait_for(volatile long* cell, long value) {
  while (*cell != value) __asm__ volatile("pause" ::: "memory");
}

/* kRemote messages from rank 0 to rank 1, another process. `count_sends`: rank 0's calls are counted;
 * otherwise rank 1's, whose messages have all come then. */
static void remote(int count_sends, const char* name) {
  static long turn = 0;
  MPI_Aint bytes_of_window;
  int unit;
  long* cell;
  MPI_Win_shared_query(win, 0, &bytes_of_window, &unit, &cell);
  for (int round = 0; round < 4; round++) {
    const int counted = round == 3;
    MPI_Barrier(world);
    turn++;
    if (rank == 0) {
      if (counted && count_sends) CALLGRIND_ZERO_STATS;
      for (int i = 0; i < kRemote; i++) MPI_Send(bytes, 8, MPI_BYTE, 1, 0, world);
      if (counted && count_sends) CALLGRIND_DUMP_STATS_AT(name);
      __atomic_store_n(cell, turn, __ATOMIC_RELEASE);
    } else {
      wait_for(cell, turn);
      if (counted && !count_sends) CALLGRIND_ZERO_STATS;
      for (int i = 0; i < kRemote; i++)
        MPI_Recv(bytes, 8, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
      if (counted && !count_sends) CALLGRIND_DUMP_STATS_AT(name);
    }
  }
}

static const struct {
  const char* name;
  void (*run)(int times);
} paths[] = {
    {"send_recv", send_recv},
    {"send_recv_status", send_recv_status},
    {"gaps_send_recv", gaps_send_recv},
    {"probe_recv", probe_recv},
    {"sendrecv", sendrecv},
    {"isend_irecv_waitall", isend_irecv_waitall},
    {"persistent", persistent},
    {"testany_in_vain", testany_in_vain},
    {"barrier", barrier},
    {"allreduce", allreduce},
    {"bcast", bcast},
    {"ibarrier_wait", ibarrier_wait},
    {"comm_split", comm_split},
    {"put_flush", put_flush},
};

static void count(const char* name, void (*run)(int times), int times) {
  char mark[100];
  snprintf(mark, sizeof mark, "%s %d", name, times);
  MPI_Barrier(world);
  if (rank == 0) CALLGRIND_ZERO_STATS;
  run(times);
  MPI_Barrier(world);
  if (rank == 0) CALLGRIND_DUMP_STATS_AT(mark);
}

static void run_path(const char* name) {
  if (strncmp(name, "remote_", 7) == 0) {
    remote(strcmp(name, "remote_send") == 0, name);
    return;
  }
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    if (strcmp(name, paths[i].name) != 0) continue;
    paths[i].run(kWarm);
    count(name, paths[i].run, kFew);
    count(name, paths[i].run, kMany);
    return;
  }
  fprintf(stderr, "path_counts: there is no path %s\n", name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  const int multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Win_allocate_shared(sizeof *memory, 1, MPI_INFO_NULL, world, &memory, &win);
  *memory = 0;
  MPI_Win_lock_all(0, win);
  for (int i = 1 + multiple; i < argc; i++) run_path(argv[i]);
  MPI_Barrier(world);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return 0;
}
