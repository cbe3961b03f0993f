/* Waiting costs no processor time: what processes whose ranks all wait use of the processors, and
 * how often they wake up.
 *   idle [SECONDS]       every rank waits in a way of its own (a receive, MPI_Waitany, a probe, a
 *                        nonblocking barrier, a synchronous send, sleep, ...) for rank 0, which
 *                        sleeps
 *   IDLE=pair            the first ranks of processes 0 and 1 play ping-pong; everybody else waits
 *   IDLE=receive         every rank waits in MPI_Recv, and its process's account goes on until it
 *                        has been woken
 * The bounds are 2% of a processor for the whole job (2 ms a process where they are many), and a
 * few wake-ups a second. CPU time, not elapsed time, is what is looked at, so other load on the
 * machine does no harm. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "mpitest.h"

static int rank, size, each, seconds;

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static long sleeps(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_nvcsw;
}

enum { kWays = 9 };

/* Waits for rank 0 in the way that the rank's number picks. */
static void wait_some_way(void) {
  char byte = 0, bytes[3];
  MPI_Request requests[3];
  MPI_Message message;
  int index, there = 0;
  switch (rank % kWays) {
    case 0:
      OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 1:
      for (int i = 0; i < 3; ++i)
        OK(MPI_Irecv(&bytes[i], 1, MPI_BYTE, i == 2 ? 0 : rank, i == 2 ? 1 : 77 + i, MPI_COMM_WORLD,
                     &requests[i]));
      OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
      CHECK(index == 2);
      for (int i = 0; i < 2; ++i) {
        OK(MPI_Cancel(&requests[i]));
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
      }
      break;
    case 2:
      OK(MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 3:
      OK(MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      OK(MPI_Mrecv(&byte, 1, MPI_BYTE, &message, MPI_STATUS_IGNORE));
      break;
    case 4:
      OK(MPI_Ssend(&byte, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
      OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 5:
      sleep((unsigned)seconds);
      OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 6: { /* a message that is larger than what the network's and the host's buffers hold */
      static char large[1 << 20];
      OK(MPI_Send(large, sizeof large, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
      OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    }
    case 7:
      for (; !there; usleep(100000))
        OK(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
      OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    default:
      OK(MPI_Irecv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE));
  }
}

static void release_all(void) {
  static char large[1 << 20];
  char byte = 0;
  for (int r = 1; r < size; ++r) {
    if (r % kWays == 4) OK(MPI_Recv(&byte, 1, MPI_BYTE, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (r % kWays == 6)
      OK(MPI_Recv(large, sizeof large, MPI_BYTE, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Send(&byte, 1, MPI_BYTE, r, 1, MPI_COMM_WORLD));
  }
}

/* Rank 0 sleeps, the others wait for it; a nonblocking barrier of all is under way meanwhile. What
 * the first rank of each process sees between its start and the moment when rank 0 lets go, which
 * all know from the clock. */
static void waiting(double* cpu, long* woken) {
  MPI_Request barrier;
  double start = cpu_seconds();
  long slept = sleeps();
  if (rank == 0) {
    usleep(seconds * 1000000u);
    *cpu = cpu_seconds() - start;
    *woken = sleeps() - slept;
    release_all();
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
  } else {
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    if (rank % each == 0) { /* its process's account, read before anybody is let go */
      usleep(seconds * 900000u);
      *cpu = cpu_seconds() - start;
      *woken = sleeps() - slept;
    }
    wait_some_way();
  }
  OK(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
}

static void receiving(double* cpu, long* woken) {
  char byte = 0;
  double start = cpu_seconds();
  long slept = sleeps();
  if (rank == 0) {
    usleep(seconds * 1000000u);
  } else {
    OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  if (rank % each == 0) {
    *cpu = cpu_seconds() - start;
    *woken = sleeps() - slept;
  }
  if (rank == 0)
    for (int r = 1; r < size; ++r) OK(MPI_Send(&byte, 1, MPI_BYTE, r, 1, MPI_COMM_WORLD));
}

static void pair(double* cpu, long* woken) {
  char byte = 0;
  const int player = rank == 0 || rank == each;
  double start = cpu_seconds(), until = MPI_Wtime() + seconds;
  long slept = sleeps(), rounds = 0;
  if (player) {
    int other = each - rank;
    for (char go = 1; go; ++rounds) {
      if (rank == 0) {
        go = MPI_Wtime() < until;
        OK(MPI_Send(&go, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD));
        OK(MPI_Recv(&byte, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      } else {
        OK(MPI_Recv(&go, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
      }
    }
    if (rank == 0) {
      printf("%ld round trips in %d s\n", rounds, seconds);
      for (int r = 1; r < size; ++r)
        if (r != each) OK(MPI_Send(&byte, 1, MPI_BYTE, r, 2, MPI_COMM_WORLD));
    }
  } else {
    OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  if (rank / each > 1 && rank % each == 0) {
    *cpu = cpu_seconds() - start;
    *woken = sleeps() - slept;
  }
}

int main(int argc, char** argv) {
  const char* nfg = getenv("FGMPI_NFG");
  double cpu = 0, cpu_of_all = 0;
  long woken = 0, most_woken = 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  each = nfg ? atoi(nfg) : 1;
  const char* what = getenv("IDLE");
  seconds = argc > 1 ? atoi(argv[1]) : 3;
  /* All pairs of processes have communicated: connections are open. */
  for (int shift = 1; shift < size; ++shift)
    OK(MPI_Sendrecv(&cpu, 1, MPI_DOUBLE, (rank + shift) % size, 3, &cpu_of_all, 1, MPI_DOUBLE,
                    (rank + size - shift) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (what && !strcmp(what, "pair"))
    pair(&cpu, &woken);
  else if (what && !strcmp(what, "receive"))
    receiving(&cpu, &woken);
  else
    waiting(&cpu, &woken);
  OK(MPI_Reduce(&cpu, &cpu_of_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
  OK(MPI_Reduce(&woken, &most_woken, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    printf("%.4f s of CPU in %d s by all that waited; at most %ld wake-ups of a process\n",
           cpu_of_all, seconds, most_woken);
    const double least = 0.002 * size / each;
    const double share = 0.04 * seconds;
    CHECK(cpu_of_all < (least > share ? least : share));
    CHECK(most_woken < 40 * seconds);
  }
  return finish();
}
