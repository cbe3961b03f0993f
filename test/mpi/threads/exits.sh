# exit() in a thread ends its rank, and no other one of the process: its handlers run, the job's status is the rank's.
set -u
export ASAN_OPTIONS=detect_leaks=0 # a rank that ends so leaves what it had
bin=$1 work=$2/exits.dir
fail() { echo "exits.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >exits.c <<'END'
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int rank;
static const char *how, *where;
static sem_t never;
static void handler(void) {
  if (!strcmp(where, "late")) {
    /* What the rank was in when it ended is completed while its handler waits for something else. */
    int value = 0;
    MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (value != 42) printf("the handler got %d\n", value);
    if (value != 42) return;
  }
  printf("handler of %d\n", rank);
}
static void quick_handler(void) { printf("quick handler of %d\n", rank); }
static void* run(void* unused) {
  usleep(20000); /* the rank waits by now */
  if (!strcmp(how, "exit")) exit(7);
  if (!strcmp(how, "quick_exit")) quick_exit(7);
  if (!strcmp(how, "_exit")) _exit(7);
  return unused;
}
int main(int argc, char** argv) {
  int provided, size, level = argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, sum = 0;
  how = argv[1], where = argv[2];
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm others;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &others);
  if (rank == 1) {
    pthread_t thread;
    atexit(handler);
    at_quick_exit(quick_handler);
    sem_init(&never, 0, 0);
    pthread_create(&thread, NULL, run, NULL);
    if (!strcmp(where, "join")) pthread_join(thread, NULL);
    if (!strcmp(where, "receive") || !strcmp(where, "late"))
      MPI_Recv(&sum, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(where, "semaphore")) sem_wait(&never);
    if (!strcmp(where, "sleep")) sleep(1000);
    /* Calls that block the whole process until then. */
    int ends[2];
    char byte;
    if (pipe(ends)) return 2;
    sigset_t most, before;
    sigfillset(&most);
    sigdelset(&most, SIGTERM);
    if (!strcmp(where, "pause")) for (;;) pause();
    if (!strcmp(where, "sigsuspend")) sigsuspend(&most);
    if (!strcmp(where, "sigwait")) {
      int number;
      sigprocmask(SIG_BLOCK, &most, &before);
      sigwait(&most, &number);
    }
    if (!strcmp(where, "read") && read(ends[0], &byte, 1) != 1) printf("nothing read\n");
    if (!strcmp(where, "poll")) {
      struct pollfd file = {ends[0], POLLIN, 0};
      poll(&file, 1, -1);
    }
    if (!strcmp(where, "wait")) {
      if (fork() == 0) {
        char* sleeps[] = {"sleep", "5", NULL};
        fclose(stdout);
        execvp("sleep", sleeps);
      }
      wait(NULL);
    }
    if (!strcmp(where, "test"))
      for (int flag;;) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    printf("not reached\n");
    return 1;
  }
  if (rank == 0 && !strcmp(where, "late")) {
    int value = 42;
    /* Not a blocking call: below MPI_THREAD_SERIALIZED nobody knows that a thread may end the rank. */
    for (int there = 0; !there; usleep(1000)) MPI_Iprobe(1, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Recv(&sum, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&sum, 1, MPI_INT, 1, 99, MPI_COMM_WORLD);
    usleep(20000);
    MPI_Send(&value, 1, MPI_INT, 1, 100, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 50; ++i) {
    usleep(1000);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, others);
  }
  /* Fills what the rank that has ended waits for. */
  if (rank == 0 && !strcmp(where, "receive")) MPI_Send(&sum, 1, MPI_INT, 1, 99, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", sum);
  fflush(stdout);
  usleep(20000);
  _exit(0); /* MPI_Finalize would wait for the rank that has ended */
}
END
"$bin/mpicc" -O1 -pthread exits.c -o exits || fail "mpicc"
for level in "" multiple; do
  for shape in "-n 1 -nfg 4" "-n 2 -nfg 2" "-n 2 -nfg 3"; do
    for where in join receive late semaphore sleep test pause sigsuspend sigwait read poll wait; do
      timeout 30 "$bin/mpiexec" $shape ./exits exit $where $level >out 2>&1
      status=$?
      [ $status = 7 ] || fail "$shape $where $level: status $status"
      grep -q '^handler of 1$' out || fail "$shape $where $level: no handler"
      case $shape in *3) sum=14 ;; *) sum=5 ;; esac
      grep -q "^sum $sum\$" out || fail "$shape $where $level: others"
    done
  done
  timeout 30 "$bin/mpiexec" -n 1 -nfg 4 ./exits quick_exit join $level >out 2>&1
  [ $? = 7 ] && grep -q '^quick handler of 1$' out && ! grep -q '^handler' out || fail "quick_exit $level"
  timeout 30 "$bin/mpiexec" -n 1 -nfg 4 ./exits _exit join $level >out 2>&1
  [ $? = 7 ] && ! grep -q handler out || fail "_exit $level"
done
cat >alone.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void handler(void) { printf("handler\n"); }
static void* run(void* unused) { (void)unused; exit(5); }
int main(void) {
  pthread_t thread;
  atexit(handler);
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
  return 1;
}
END
"$bin/mpicc" -O1 -pthread alone.c -o alone || fail "mpicc"
timeout 30 "$bin/mpiexec" -n 1 ./alone >out 2>&1
[ $? = 5 ] && grep -q '^handler$' out || fail "alone"

# The end of main's thread, by pthread_exit() or thrd_exit(), is not that of the rank while other threads of it run.
cat >goes_on.c <<'END'
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
static int rank;
static void handler(void) { printf("handler of %d\n", rank); }
static void* grandchild(void* status) {
  usleep(30000);
  printf("thread of %d\n", rank);
  fflush(stdout);
  if (status) exit(6);
  return NULL;
}
static void* run(void* status) {
  pthread_t thread;
  usleep(20000);
  pthread_create(&thread, NULL, grandchild, status);
  pthread_detach(thread);
  return NULL;
}
int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  atexit(handler);
  MPI_Finalize();
  pthread_create(&thread, NULL, run, argc > 2 ? "" : NULL);
  pthread_detach(thread);
  if (!strcmp(argv[1], "thrd_exit")) thrd_exit(3);
  pthread_exit(NULL);
}
END
"$bin/mpicc" -O1 -pthread goes_on.c -o goes_on || fail "mpicc"
for shape in "1 1" "2 1" "1 4" "2 2"; do
  set -- $shape
  for how in pthread_exit thrd_exit; do
    timeout 30 "$bin/mpiexec" -n $1 -nfg $2 ./goes_on $how >out 2>&1 || fail "$how at $shape: status $?"
    [ "$(grep -c '^thread of' out) $(grep -c '^handler of' out)" = "$(($1 * $2)) $(($1 * $2))" ] || fail "$how at $shape"
  done
  timeout 30 "$bin/mpiexec" -n $1 -nfg $2 ./goes_on pthread_exit exit >out 2>&1
  [ $? = 6 ] && [ "$(grep -c '^handler of' out)" = "$(($1 * $2))" ] || fail "exit after pthread_exit at $shape"
done
exit 0
