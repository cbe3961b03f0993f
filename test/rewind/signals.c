// Handlers of signals: from outside and from timers while ranks compute, wait and communicate; sent
// to itself; a handler that jumps. Prints where each came. With the argument "wait" the run goes on
// until a SIGTERM comes.
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t g_round, g_count, g_jumps, g_ends, g_heard;
static sigjmp_buf g_place;

static void handler(int number, siginfo_t* info, void* context) {
  char line[100];
  (void)context;
  const int length = snprintf(line, sizeof line, "signal %d in round %d from %s\n", number,
                              (int)g_round, info->si_pid == getpid() ? "itself" : "others");
  if (write(1, line, (size_t)length) != length) _exit(3);
  ++g_count;
  if (number == SIGTERM) g_ends = 1;
  if (g_jumps) siglongjmp(g_place, 1);
}

static void handle(int number) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(number, &action, NULL);
  sigaction(number, NULL, &before);
  if (before.sa_sigaction != handler) exit(4);
}

static void send_to_itself(void) {
  const int before = g_count;
  raise(SIGUSR2);
  kill(getpid(), SIGUSR2);
  if (g_count != before + 2) exit(5);
  g_jumps = 1;
  for (volatile int i = 0; i < 3; ++i)
    if (sigsetjmp(g_place, 1) == 0) raise(SIGUSR2);
  g_jumps = 0;
  if (g_count != before + 5) exit(6);
}

static void hear(int number) {
  (void)number;
  ++g_heard;
}

/// A signal that one rank sends to the process is for the handlers of all ranks, and ends a pause.
static void send_to_all(int rank) {
  signal(SIGWINCH, hear);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Request request;
    int flag = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) {
      kill(getpid(), SIGWINCH);
      usleep(1000);
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
  } else {
    pause();
    printf("rank %d has heard %d signals\n", rank, (int)g_heard);
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_heard == 0) exit(7);
  signal(SIGWINCH, SIG_DFL);
}

int main(int argc, char** argv) {
  int rank, size, sum = 0, all = 0, waits = argc > 1 && !strcmp(argv[1], "wait");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_to_all(rank);
  if (rank == 0) {
    handle(SIGUSR1);
    handle(SIGUSR2);
    handle(SIGALRM);
    handle(SIGTERM);
    send_to_itself();
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_REAL, &often, NULL);
  }
  for (int go = 1; go;) {
    if (rank == 0) ++g_round;
    for (volatile int i = 0; i < 1000; ++i) sum += i;
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    go = rank == 0 && (waits ? !g_ends : g_count < 100);
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    const struct itimerval never = {{0, 0}, {0, 0}}, once = {{0, 0}, {0, 50000}};
    setitimer(ITIMER_REAL, &never, NULL);
    const int before = g_count;
    setitimer(ITIMER_REAL, &once, NULL);
    while (g_count == before) pause();
    printf("%d signals, %d rounds, the sum is %d\n", (int)g_count, (int)g_round, all);
  }
  MPI_Finalize();
  return 0;
}
