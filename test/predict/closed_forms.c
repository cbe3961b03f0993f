/* Exchanges whose time on the machine of machine.json has a closed form. Prints "NAME NANOSECONDS" for each; the times of
 * ranks that matter are measured by MPI_Wtime at rank 0. All ranks begin each at the same virtual time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static char* data;

static double now(void) { return MPI_Wtime() * 1e9; }

/* Sets all clocks to the same time: later than any of them. */
static void align(void) {
  double mine = now(), latest;
  MPI_Allreduce(&mine, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  latest += 1e6;
  const double wait = latest - now();
  const struct timespec t = {0, (long)(wait + 0.5)};
  nanosleep(&t, NULL);
}
static void print(const char* name, double begun) {
  const double end = now();
  if (rank == 0) printf("%s %.0f\n", name, end - begun);
}

static void ping(const char* name, int with, int bytes, int source) {
  align();
  const double begun = now();
  if (rank == 0) {
    MPI_Send(data, bytes, MPI_CHAR, with, 1, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_CHAR, source == MPI_ANY_SOURCE ? source : with, 2, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  } else if (rank == with) {
    MPI_Recv(data, bytes, MPI_CHAR, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
  print(name, begun);
}

/* Ranks 2 and 3, of one node, send to rank 0 at the same time: one waits for the port. */
static void contended(void) {
  align();
  const double begun = now();
  if (rank == 0)
    for (int i = 0; i < 2; ++i)
      MPI_Recv(data, 8000, MPI_CHAR, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 2 || rank == 3) MPI_Send(data, 8000, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
  print("contended", begun);
}

/* Rank 3 sends first in real time, rank 2 first in virtual time: rank 0 receives from rank 2 first. */
static void order(void) {
  align();
  int from = -1;
  if (rank == 3) {
    const struct timespec later = {0, 50000};
    nanosleep(&later, NULL);
    MPI_Send(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
  }
  if (rank == 2) {
    const struct timespec sooner = {0, 20000};
    nanosleep(&sooner, NULL);
    MPI_Send(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("first %d\n", from);
    MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* A receive that is posted late: the message waits for it. */
static void late(void) {
  align();
  const double begun = now();
  const struct timespec wait = {0, 100000};
  if (rank == 2) MPI_Send(data, 10, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
  if (rank == 0) {
    nanosleep(&wait, NULL);
    MPI_Recv(data, 10, MPI_CHAR, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  print("late", begun);
}

/* Polls until a message of rank 2 is there, which comes after 200 us: both kinds of polls. */
static void polled(void) {
  const struct timespec wait = {0, 200000};
  int flag = 0;
  MPI_Request request;
  align();
  double begun = now();
  if (rank == 2) nanosleep(&wait, NULL), MPI_Send(data, 1, MPI_CHAR, 0, 6, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Irecv(data, 1, MPI_CHAR, 2, 6, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  print("tested", begun);
  align();
  begun = now();
  if (rank == 2) nanosleep(&wait, NULL), MPI_Send(data, 1, MPI_CHAR, 0, 6, MPI_COMM_WORLD);
  if (rank == 0) {
    for (flag = 0; !flag;) MPI_Iprobe(2, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(data, 1, MPI_CHAR, 2, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  print("probed", begun);
}

/* The root of a broadcast goes on before the others are there; the root of a reduction waits for the latest. */
static void rooted(void) {
  const struct timespec wait = {0, 300000};
  align();
  double begun = now();
  if (rank != 0) nanosleep(&wait, NULL);
  MPI_Bcast(data, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
  print("bcast", begun);
  align();
  begun = now();
  int one = 1, sum = 0;
  if (rank == size - 1) nanosleep(&wait, NULL);
  MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  print("reduce", begun);
  if (rank == 0 && sum != size) printf("sum %d\n", sum);
}

static void pass(long ns) {
  const struct timespec t = {0, ns};
  nanosleep(&t, NULL);
}

/* What the operation takes until it is complete at its target, rank 2, for rank 0. */
static void accessed(const char* name, char what, MPI_Win win) {
  long one = 1, old = 0;
  align();
  const double begun = now();
  if (rank == 0) {
    if (what == 'p') MPI_Put(data, 100, MPI_CHAR, 2, 0, 100, MPI_CHAR, win);
    if (what == 'g') MPI_Get(data, 100, MPI_CHAR, 2, 0, 100, MPI_CHAR, win);
    if (what == 'f') MPI_Fetch_and_op(&one, &old, MPI_LONG, 2, 0, MPI_SUM, win);
    if (what == 'r') {
      MPI_Request request;
      MPI_Rget(data, 100, MPI_CHAR, 2, 0, 100, MPI_CHAR, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Win_flush(2, win);
    }
  } else {
    pass(20000); /* the next messages do not meet those of the operation */
  }
  print(name, begun);
}

/* Windows: operations, a fence, a lock that another rank holds, general active target synchronisation. */
static void windows(void) {
  char* memory;
  MPI_Win win;
  MPI_Group all, other;
  MPI_Win_allocate(1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  MPI_Win_flush_all(win);
  accessed("first put", 'p', win); /* takes the lock of its target first */
  accessed("put", 'p', win);
  accessed("get", 'g', win);
  accessed("rget", 'r', win);
  accessed("fetch", 'f', win);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  align();
  double begun = now();
  if (rank == 0) MPI_Put(data, 100, MPI_CHAR, 2, 0, 100, MPI_CHAR, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  print("fence", begun);
  align();
  begun = now();
  if (rank == 2) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    pass(100000);
    MPI_Win_unlock(1, win);
  } else if (rank == 0) {
    pass(50000);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  }
  print("lock", begun);
  if (rank == 0) MPI_Win_unlock(1, win);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int member = rank == 0 ? 2 : 0;
  MPI_Group_incl(all, 1, &member, &other);
  align();
  begun = now();
  if (rank == 2) {
    pass(50000);
    MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
  } else if (rank == 0) {
    MPI_Win_start(other, 0, win);
    MPI_Put(data, 100, MPI_CHAR, 2, 0, 100, MPI_CHAR, win);
    MPI_Win_complete(win);
  }
  print("start", begun);
  MPI_Group_free(&all);
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

/* One rank writes, then all do; a write that goes on while its rank computes. */
static void files(void) {
  char name[64] = "/tmp/fgmpi-predict-XXXXXX";
  MPI_File file;
  MPI_Request request;
  if (rank == 0) close(mkstemp(name));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  align();
  double begun = now();
  if (rank == 0) MPI_File_write_at(file, 0, data, 1000000, MPI_CHAR, MPI_STATUS_IGNORE);
  print("write", begun);
  align();
  begun = now();
  MPI_File_write_at(file, 1000000 * rank, data, 1000000, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  print("writes", begun);
  align();
  begun = now();
  if (rank == 0) {
    MPI_File_iread_at(file, 0, data, 1000000, MPI_CHAR, &request);
    pass(400000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  print("iread", begun);
  MPI_File_close(&file);
  if (rank == 0) remove(name);
}

/* A message in two partitions, the second of which is ready 100 us after the first. */
static void partitioned(void) {
  MPI_Request request;
  int flag = 0;
  if (rank == 0)
    MPI_Precv_init(data, 2, 1000, MPI_CHAR, 2, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (rank == 2)
    MPI_Psend_init(data, 2, 1000, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int round = 0; round < 2; ++round) {
    align();
    const double begun = now();
    if (rank == 0 || rank == 2) MPI_Start(&request);
    if (rank == 2) {
      MPI_Pready(0, request);
      pass(100000);
      MPI_Pready(1, request);
    } else if (rank == 0 && round == 1) {
      while (!flag) MPI_Parrived(request, 0, &flag);
      print("parrived", begun);
    }
    if (rank == 0 || rank == 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (round == 1) print("partitions", begun);
  }
  if (rank == 0 || rank == 2) MPI_Request_free(&request);
}

static void collective(const char* name, int bytes) {
  align();
  const double begun = now();
  if (bytes < 0) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, data, bytes, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  print(name, begun);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  data = calloc(1 << 20, 1);
  ping("inside", 1, 100, 0);
  ping("between", 2, 100, 0);
  ping("any", 2, 100, MPI_ANY_SOURCE);
  ping("rendezvous", 2, 20000, 0);
  ping("piece", 2, 200000, 0);
  contended();
  order();
  late();
  polled();
  rooted();
  collective("barrier", -1);
  collective("allreduce", 80);
  windows();
  files();
  partitioned();
  free(data);
  MPI_Finalize();
  return 0;
}
