/* Ranks that get, wherever they are, what keeps them in a process (a child, a timer, a thread, a library) and keep it to the end: they go home
 * before, so that all come to MPI_Finalize. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"

static int is_home(int home) { return (int)syscall(SYS_getpid) == home; }

static void* end_at_once(void* data) { return data; }

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int home = getpid();
  /* Calls at which ranks move. */
  for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < rank % 7; ++i) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  if (rank % 4 == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(getppid() == home ? 0 : 1);
    int status = -1;
    CHECK(child > 0 && is_home(home));
    for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  } else if (rank % 4 == 1) {
    timer_t timer;
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    CHECK(timer_create(CLOCK_MONOTONIC, &none, &timer) == 0 && is_home(home));
    for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  } else if (rank % 4 == 2) {
    /* Visitors of a process in which a rank has done this go home for MPI_Finalize all the same. */
    CHECK(dlopen("libBrokenLocale.so.1", RTLD_NOW) && is_home(home));
    for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
  } else {
    FILE* stream = popen("echo there", "r");
    char text[16] = "";
    CHECK(stream && is_home(home));
    for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
    CHECK(fgets(text, sizeof text, stream) && !strcmp(text, "there\n") && pclose(stream) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  /* Where a rank of the process has threads, all stay: a single one begins with that, and the others are home. */
  if (rank == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_at_once, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  return finish();
}
