/* What else the C language and its linker give a program: order of constructors and destructors,
 * indirect functions, weak symbols, large and aligned thread-local variables, jumps. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

static int rank = -1, size;

static char order[4];
static int constructed, destroyed;
__attribute__((constructor(101))) static void first(void) { order[constructed++] = '1'; }
__attribute__((constructor(102))) static void second(void) { order[constructed++] = '2'; }
__attribute__((constructor)) static void third(void) { order[constructed++] = '3'; }
__attribute__((destructor)) static void third_last(void) { destroyed = rank + 1; }
__attribute__((destructor(102))) static void second_last(void) { ++destroyed; }
__attribute__((destructor(101))) static void last(void) {
  if (rank < 0 || destroyed == 2 + rank) return;
  fprintf(stderr, "rank %d: %d destroyed\n", rank, destroyed);
  abort();
}

int missing(void) __attribute__((weak));
__attribute__((weak)) int present(void) { return rank; }

#if !defined(__SANITIZE_ADDRESS__) /* whose instrumentation cannot run in resolvers */
static int chosen_here(void) { return 1000 + rank; }
static int (*choose(void))(void) { return chosen_here; }
int chosen(void) __attribute__((ifunc("choose")));
#else
static int chosen(void) { return 1000 + rank; }
#endif

static _Thread_local char large[1 << 20];
static _Thread_local char aligned[64] __attribute__((aligned(64)));
static char all_zero[50 << 20]; /* costs address space only */
static jmp_buf back;
static volatile sig_atomic_t caught;
static void on_signal(int number) { caught = number; }

static void together(void) { OK(MPI_Barrier(MPI_COMM_WORLD)); }

static void jump(int times) {
  together();
  longjmp(back, times);
}

static void thread_local_variables(void) {
  int i;
  large[rank] = 1;
  large[sizeof large - 1] = (char)rank;
  aligned[3] = (char)rank;
  together();
  CHECK(((size_t)aligned & 63) == 0 && aligned[3] == (char)rank);
  CHECK(large[sizeof large - 1] == (char)rank);
  for (i = 0; i < size; ++i) CHECK(large[i] == (i == rank));
}

int main(int argc, char** argv) {
  int (*pointer)(void) = chosen;
  volatile int jumps = 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(constructed == 3 && memcmp(order, "123", 3) == 0);
  CHECK(!missing && present() == rank);
  together();
  CHECK(chosen() == 1000 + rank && pointer() == 1000 + rank);
  thread_local_variables();
  all_zero[(size_t)rank << 12] = 1;
  together();
  CHECK(!all_zero[(size_t)((rank + 1) % size) << 12] || size == 1);
  if (setjmp(back) < 5) jump(++jumps);
  CHECK(jumps == 5);
  errno = rank + 1;
  together();
  CHECK(errno == rank + 1);
  signal(SIGUSR1, on_signal);
  CHECK(raise(SIGUSR1) == 0 && caught == SIGUSR1);
  return finish();
}
