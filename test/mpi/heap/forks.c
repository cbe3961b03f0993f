/* A rank that forks: the child has copies of the stack, variables, blocks and mappings of the rank, of which parent and child
 * change their own alone, also where the slots of ranks are shared memory (FGMPI_BALANCE=on). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBlocks = 100, kMapped = 1 << 18 };
static int variable = 5, zero;
static _Thread_local int of_thread = 7;
static char* blocks[kBlocks];

static int fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

static void fill(char value) {
  for (int i = 0; i < kBlocks; ++i) memset(blocks[i], value, (size_t)(10 + i * i));
}
static int has(char value) {
  for (int i = 0; i < kBlocks; ++i)
    for (int k = 0; k < 10 + i * i; ++k)
      if (blocks[i][k] != value) return 0;
  return 1;
}

/* Runs in both at the same time. */
static int change(char value, char* mapped, volatile char* on_stack) {
  variable += value;
  zero += value;
  of_thread += value;
  fill(value);
  memset(mapped, value, kMapped);
  for (int i = 0; i < 1000; ++i) on_stack[i] = value;
  for (int round = 0; round < 40; ++round) {
    char* more[20];
    for (int i = 0; i < 20; ++i)
      memset(more[i] = malloc((size_t)(100 + 1000 * i)), value, (size_t)(100 + 1000 * i));
    for (int i = 0; i < 20; ++i) {
      if (more[i][50] != value) return fail("a new block");
      free(more[i]);
    }
    if (round % 10 == 0) usleep(1000);
  }
  if (variable != 5 + value || zero != value || of_thread != 7 + value) return fail("a variable");
  if (!has(value)) return fail("a block");
  for (int i = 0; i < kMapped; ++i)
    if (mapped[i] != value) return fail("a mapping");
  for (int i = 0; i < 1000; ++i)
    if (on_stack[i] != value) return fail("the stack");
  return 0;
}

int main(int argc, char** argv) {
  volatile char on_stack[1000];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* mapped = mmap(NULL, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc((size_t)(10 + i * i));
  fill(1);
  memset(mapped, 1, kMapped);
  pid_t children[3];
  int failed = 0;
  for (int c = 0; c < 3; ++c) {
    variable = 5, zero = 0, of_thread = 7;
    children[c] = fork();
    if (children[c] < 0) return fail("fork");
    if (children[c] == 0) {
      if (c == 0 && (!has(1) || mapped[kMapped - 1] != 1)) _exit(fail("the copy"));
      _exit(change((char)(10 + c), mapped, on_stack));
    }
    failed |= change((char)(20 + c), mapped, on_stack);
  }
  for (int c = 0; c < 3; ++c) {
    int status = 1;
    if (waitpid(children[c], &status, 0) != children[c] || status != 0) failed |= fail("a child");
  }
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf(" No Errors\n");
  MPI_Finalize();
  return 0;
}
