/* Ranks that wait for signals, or whose waits handlers interrupt: signals are the process's, so its
 * first rank sends them. */
#define _GNU_SOURCE
#include "outside.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static MPI_Comm here; /* the ranks of this process */
static int first;
static volatile sig_atomic_t calls, last_code;

static void handler(int number) {
  (void)number;
  ++calls;
}
static void handler_with_info(int number, siginfo_t* info, void* context) {
  (void)context;
  last_code = info->si_signo == number ? info->si_code : -1;
  ++calls;
}

/* Every rank of the process has its handler of SIGUSR1, the last of all stays; afterwards some rank
   sends the signal, again and again until nobody waits any more: none of them may be lost. */
static void install(int flags) {
  struct sigaction action = {.sa_flags = flags}, before, now;
  sigemptyset(&action.sa_mask);
  if (flags & SA_SIGINFO)
    action.sa_sigaction = handler_with_info;
  else
    action.sa_handler = handler;
  MPI_Barrier(here);
  CHECK(sigaction(SIGUSR1, &action, &before) == 0);
  CHECK(sigaction(SIGUSR1, NULL, &now) == 0);
  CHECK(now.sa_flags == (flags | 0x04000000) || now.sa_flags == flags);
  if (flags & SA_SIGINFO)
    CHECK(now.sa_sigaction == handler_with_info);
  else
    CHECK(now.sa_handler == handler);
  MPI_Barrier(here);
}

/* `wait` returns when a handler has run. The first rank of the process sends signals until all
 * others are through. */
static void interrupt(void (*wait)(void)) {
  int ranks;
  MPI_Comm_size(here, &ranks);
  if (ranks == 1) return;
  if (first) {
    MPI_Request request;
    int flag = 0;
    MPI_Ibarrier(here, &request);
    while (!flag) {
      kill(getpid(), SIGUSR1);
      usleep(2000);
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
  } else {
    wait();
    MPI_Request request;
    MPI_Ibarrier(here, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(here);
}

static int ends[2];
static void wait_in_pause(void) { CHECK(pause() == -1 && errno == EINTR); }
static void wait_in_sigsuspend(void) {
  sigset_t none;
  sigemptyset(&none);
  CHECK(sigsuspend(&none) == -1 && errno == EINTR);
}
static void wait_in_read(void) {
  char c;
  CHECK(read(ends[0], &c, 1) == -1 && errno == EINTR);
}
static void wait_in_poll(void) {
  struct pollfd fd = {ends[0], POLLIN, 0};
  CHECK(poll(&fd, 1, -1) == -1 && errno == EINTR);
}
static void wait_in_waitpid(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  CHECK(waitpid(child, NULL, 0) == -1 && errno == EINTR);
  kill(child, SIGKILL);
  int status, result;
  do result = waitpid(child, &status, 0);
  while (result == -1 && errno == EINTR);
  CHECK(result == child);
}
static void wait_in_sigwaitinfo(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK(sigwaitinfo(&set, NULL) == -1 && errno == EINTR);
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, (int)getpid(), me, &here);
  MPI_Comm_rank(here, &rank);
  first = rank == 0;
  CHECK(pipe(ends) == 0);
  install(0);
  interrupt(wait_in_pause);
  interrupt(wait_in_sigsuspend);
  interrupt(wait_in_read);
  interrupt(wait_in_poll);
  interrupt(wait_in_waitpid);
  interrupt(wait_in_sigwaitinfo);
  /* SA_RESTART: pause() and poll() end, read() does not. */
  install(SA_RESTART | SA_SIGINFO);
  interrupt(wait_in_pause);
  interrupt(wait_in_poll);
  int ranks;
  MPI_Comm_size(here, &ranks);
  if (ranks > 1) {
    if (first) {
      for (int i = 0; i < 5; ++i) kill(getpid(), SIGUSR1), usleep(1000);
      MPI_Barrier(here);
    } else {
      char c = 0;
      if (rank == 1) {
        MPI_Barrier(here);
        usleep(1000);
        CHECK(write(ends[1], "y", 1) == 1);
      } else {
        CHECK(write(ends[1], "y", 1) == 1);
        MPI_Barrier(here);
      }
      CHECK(read(ends[0], &c, 1) == 1 && c == 'y');
    }
    MPI_Barrier(here);
    /* The handler is the last rank's that has installed it. */
    int ran = calls > 0 && last_code == SI_USER, any = 0;
    MPI_Allreduce(&ran, &any, 1, MPI_INT, MPI_MAX, here);
    CHECK(any);
  }
  /* A blocked signal is taken once, by whoever waits for it. */
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
  MPI_Barrier(here);
  if (first) {
    const struct timespec short_time = {0, 20000000};
    CHECK(sigtimedwait(&set, NULL, &short_time) == -1 && errno == EAGAIN);
    if (ranks > 1) {
      MPI_Barrier(here);
      int number = 0;
      CHECK(sigwait(&set, &number) == 0 && number == SIGUSR2);
    }
  } else {
    MPI_Barrier(here);
    if (rank == 1) usleep(2000), kill(getpid(), SIGUSR2);
  }
  MPI_Barrier(here);
  MPI_Comm_free(&here);
  return end();
}
