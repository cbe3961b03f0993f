# Programs that were linked or stripped in other ways than the tests' usual one.
set -u
bin=$1 work=$2/linked.dir
source=$(cd "$(dirname "$0")" && pwd)
fail() { echo "linked.sh: $*" >&2; cat "$work/out" >&2; exit 1; }
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
touch out
run() { # run PROGRAM WHAT: "No Errors" at 1 x 4 and 2 x 6
  for shape in "-n 1 -nfg 4" "-n 2 -nfg 6"; do
    timeout 100 "$bin/mpiexec" $shape "./$1" >out 2>&1 || fail "$2, $shape: status $?"
    grep -q 'No Errors' out || fail "$2, $shape: did not end well"
  done
}

# Without symbols nothing names a static variable: the program must not be treated as one without variables.
cat >static.c <<'END'
#include "mpitest.h"
static int calls;
int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  calls += rank + 1;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(calls == rank + 1);
  return finish();
}
END
"$bin/mpicc" -O2 -I"$source/.." static.c -o static_s -s || fail "static.c"
run static_s "stripped"
"$bin/mpicc" -O2 -I"$source/.." static.c -o static_x && strip -x static_x || fail "strip -x"
run static_x "local symbols discarded"
"$bin/mpicc" -O2 -I"$source/.." -c static.c && objcopy --strip-unneeded static.o && "$bin/mpicc" static.o -o static_o ||
  fail "objcopy"
run static_o "an object that was stripped"
# One without variables needs no images, so that any number of ranks fits.
cat >stateless.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
END
"$bin/mpicc" stateless.c -o stateless || fail "stateless.c"
timeout 100 "$bin/mpiexec" -n 1 -nfg 70000 ./stateless >out 2>&1 || fail "70,000 ranks without variables: status $?"

# A C++ runtime in the program: what it keeps of exceptions is the rank's.
for options in "-static-libstdc++" "-static-libstdc++ -static-libgcc"; do
  "$bin/mpicxx" -O1 -I"$source/.." $options "$source/exceptions.cc" -o exceptions || fail "$options"
  run exceptions "$options"
  "$bin/mpicxx" -O1 -I"$source/.." $options "$source/threads.cc" -o threads || fail "$options"
  run threads "$options"
done

# Another malloc than the C library's.
cat >malloc.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "mpitest.h"
static char pool[64 << 20];
static size_t used;
static int of_pool(void* p) { return (char*)p >= pool && (char*)p < pool + sizeof pool; }
void* malloc(size_t n) {
  n = (n + 31) & ~(size_t)15;
  size_t at = __atomic_fetch_add(&used, n, __ATOMIC_RELAXED);
  if (at + n > sizeof pool) return errno = ENOMEM, NULL;
  *(size_t*)(pool + at) = n - 16;
  return pool + at + 16;
}
void free(void* p) {
  if (p && !of_pool(p)) abort();
}
void* calloc(size_t a, size_t b) { return malloc(a * b); /* never used before: zero */ }
void* realloc(void* p, size_t n) {
  char* q = malloc(n);
  if (p && !of_pool(p)) abort();
  size_t old = p ? ((size_t*)p)[-2] : 0;
  for (size_t i = 0; q && i < old && i < n; i++) q[i] = ((char*)p)[i];
  return q;
}
void* memalign(size_t a, size_t n) { return (void*)(((uintptr_t)malloc(n + a) + a - 1) / a * a); }
void* aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void** out, size_t a, size_t n) { return (*out = memalign(a, n)) ? 0 : ENOMEM; }
int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (int i = 0; i < 5; i++) {
    char *text = NULL, *copy = strdup("allocated in the C library");
    CHECK(asprintf(&text, "rank %d", rank) > 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    free(copy);
    CHECK(atoi(text + 5) == rank);
    free(text);
    char* line = NULL;
    size_t room = 0;
    FILE* file = fopen("/proc/self/stat", "r");
    CHECK(file && getline(&line, &room, file) > 0);
    free(line);
    fclose(file);
  }
  return finish();
}
END
"$bin/mpicc" -O1 -w -fno-builtin -I"$source/.." malloc.c -o malloc || fail "malloc.c"
run malloc "a malloc of its own"

# The child of a fork is a process of the rank alone: its end runs what the rank registered, and nothing of others.
cat >child.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
#include "mpitest.h"
static int number;
static void at_end(void) { if (number >= 1000) fprintf(stderr, "end of %d\n", number); }
__attribute__((destructor)) static void last(void) { if (number >= 1000) fprintf(stderr, "destructor of %d\n", number); }
int main(int argc, char** argv) {
  int rank, status;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  atexit(at_end);
  number = rank;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    number += 1000;
    if (rank % 2) exit(7);
    return 7;
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  return finish();
}
END
"$bin/mpicc" -O1 -I"$source/.." child.c -o child || fail "child.c"
for shape in "-n 1 -nfg 6" "-n 6 -nfg 1"; do
  timeout 100 "$bin/mpiexec" $shape ./child >out 2>&1 || fail "child, $shape: status $?"
  for rank in 0 1 2 3 4 5; do
    [ "$(grep -c "^end of 100$rank\$" out)" = 1 ] || fail "child, $shape: handlers of rank $rank's child"
    [ "$(grep -c "^destructor of 100$rank\$" out)" = 1 ] || fail "child, $shape: destructors of rank $rank's child"
  done
  [ "$(grep -c 'No Errors' out)" = 1 ] || fail "child, $shape: not one job of 6 ranks"
done
echo " No Errors"
