/* Ranks that wait for signals, or whose waits handlers interrupt: signals are the process's, so its
 * first rank sends them. */
#define _GNU_SOURCE
#include "outside.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
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

/* Every rank of the process has its handler of SIGUSR1. Afterwards some rank sends the signal,
   again and again until nobody waits any more: none of the handlers may be lost. */
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
static void wait_in_sleep(void) {
  const unsigned left = sleep(1000);
  CHECK(left > 0 && left < 1000);
}
static void wait_in_usleep(void) { CHECK(usleep(1000000000) == -1 && errno == EINTR); }
static int is_left_of(const struct timespec* all, const struct timespec* left) {
  return left->tv_sec >= 0 && left->tv_sec < all->tv_sec && left->tv_nsec >= 0 &&
         left->tv_nsec < 1000000000;
}
static void wait_in_nanosleep(void) {
  const struct timespec all = {1000, 0};
  struct timespec left = {-1, 0};
  CHECK(nanosleep(&all, &left) == -1 && errno == EINTR && is_left_of(&all, &left));
  CHECK(nanosleep(&all, NULL) == -1 && errno == EINTR);
  errno = 77;
  left.tv_sec = -1;
  CHECK(thrd_sleep(&all, &left) == -1 && is_left_of(&all, &left));
}
static void wait_in_clock_nanosleep(void) {
  struct timespec all = {1000, 0}, left = {-1, 0}, now;
  errno = 77;
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &all, &left) == EINTR && is_left_of(&all, &left));
  CHECK(errno == 77);
  clock_gettime(CLOCK_REALTIME, &now);
  all.tv_sec += now.tv_sec;
  left.tv_sec = -1;
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &all, &left) == EINTR && left.tv_sec == -1);
}
static void wait_in_select(void) {
  struct timeval time = {1000, 0};
  CHECK(poll(NULL, 0, 1000000) == -1 && errno == EINTR);
  CHECK(select(0, NULL, NULL, NULL, &time) == -1 && errno == EINTR);
  CHECK(time.tv_sec < 1000);
}
static void wait_in_sem_wait(void) {
  sem_t s;
  struct timespec late;
  clock_gettime(CLOCK_REALTIME, &late);
  late.tv_sec += 1000;
  for (int shared = 0; shared < 2; ++shared) {
    CHECK(sem_init(&s, shared, 0) == 0);
    CHECK(sem_wait(&s) == -1 && errno == EINTR);
    CHECK(sem_timedwait(&s, &late) == -1 && errno == EINTR);
    CHECK(sem_post(&s) == 0 && sem_wait(&s) == 0);
    sem_destroy(&s);
  }
}
static void wait_in_sigwaitinfo(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK(sigwaitinfo(&set, NULL) == -1 && errno == EINTR);
}

static void wait_in_sleeps(void) {
  wait_in_sleep();
  wait_in_usleep();
  wait_in_nanosleep();
  wait_in_clock_nanosleep();
  wait_in_select();
}

/* The only rank of a process sends them to itself, while it sleeps. */
static void alone(void) {
  const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  wait_in_sleeps();
  wait_in_sem_wait();
  wait_in_pause();
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  signal(SIGALRM, SIG_DFL);
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
  interrupt(wait_in_sem_wait);
  interrupt(wait_in_sleeps);
  /* SA_RESTART: pause() and poll() end, read() does not. */
  install(SA_RESTART | SA_SIGINFO);
  interrupt(wait_in_pause);
  interrupt(wait_in_poll);
  interrupt(wait_in_sleeps);
  int ranks;
  MPI_Comm_size(here, &ranks);
  if (ranks == 1) alone();
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
    CHECK(calls > 0 && last_code == SI_USER);
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
