# An allocator of the user's whose locks are POSIX mutexes: a rank that waits for one of them does not let others run, since
# they would enter the allocator in the middle of an allocation of the same thread.
set -u
bin=$1 work=$2/allocator.dir
fail() { echo "allocator.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
cat >allocator.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t);
extern void __libc_free(void*);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside __attribute__((tls_model("initial-exec")));
int contended;
static void enter(void) {
  if (inside++) {
    static const char line[] = "entered twice\n";
    (void)!write(2, line, sizeof line - 1);
    abort();
  }
  if (pthread_mutex_trylock(&mutex) != 0) {
    __atomic_fetch_add(&contended, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
  }
}
static void leave(void) { pthread_mutex_unlock(&mutex), --inside; }
void* malloc(size_t n) {
  enter();
  for (volatile int i = 0; i < 2000; ++i) {
  }
  void* p = __libc_malloc(n);
  return leave(), p;
}
void* calloc(size_t n, size_t m) {
  enter();
  void* p = __libc_calloc(n, m);
  return leave(), p;
}
void* realloc(void* q, size_t n) {
  enter();
  void* p = __libc_realloc(q, n);
  return leave(), p;
}
void free(void* p) { enter(), __libc_free(p), leave(); }
END
cat >program.c <<'END'
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
extern int contended;
static volatile int stop;
static void* churn(void* unused) {
  while (!stop) free(malloc(100));
  return unused;
}
int main(int argc, char** argv) {
  int provided, rank, sum;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_t thread;
  pthread_create(&thread, NULL, churn, NULL);
  double end = MPI_Wtime() + 20;
  for (int round = 0; round < 200 || (!__atomic_load_n(&contended, __ATOMIC_RELAXED) && MPI_Wtime() < end); ++round) {
    MPI_Comm comm;
    int go_on = 1;
    free(malloc(50));
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_free(&comm);
    MPI_Sendrecv(&go_on, 1, MPI_INT, rank, 1, &sum, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  stop = 1;
  pthread_join(thread, NULL);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("contended: %s\n", contended ? "yes" : "no");
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicc" -O1 -fPIC -shared allocator.c -o liballocator.so -nostartfiles -pthread || fail "the library"
"$bin/mpicc" -O1 -pthread program.c ./liballocator.so -o program || fail "mpicc"
for shape in "-n 1 -nfg 1" "-n 1 -nfg 4" "-n 2 -nfg 3"; do
  timeout 60 "$bin/mpiexec" $shape ./program >out 2>&1 || fail "$shape: status $?"
  grep -q '^contended: yes$' out || fail "$shape: nobody waited"
done
exit 0
