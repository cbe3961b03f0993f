/* FGMPI_HEAP=rank: each rank's stack, variables and memory lie in a range that no other rank has; blocks of all sizes keep what is written to them,
 * and a collocated rank may free them. */
#include <malloc.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static uintptr_t low = UINTPTR_MAX, high = 0;

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Counts addresses as the rank's. */
static void note(const void* block, size_t bytes) {
  if ((uintptr_t)block < low) low = (uintptr_t)block;
  if ((uintptr_t)block + bytes > high) high = (uintptr_t)block + bytes;
}

/* Fills a block and counts its addresses as the rank's. */
static void* noted(void* block, size_t bytes) {
  check(block != NULL, "no memory");
  check((uintptr_t)block % 16 == 0, "a block that is not aligned");
  check(malloc_usable_size(block) >= bytes, "a block that is too small");
  memset(block, (int)(bytes & 255), bytes);
  note(block, bytes);
  return block;
}

static void check_filled(const unsigned char* block, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 1 + bytes / 37)
    check(block[i] == (bytes & 255), "other bytes in a block");
  if (bytes) check(block[bytes - 1] == (bytes & 255), "another last byte in a block");
}

enum { kBlocks = 300 };
static unsigned next;
static unsigned draw(unsigned below) {
  next = next * 1664525u + 1013904223u;
  return (next >> 8) % below;
}
static size_t draw_size(void) {
  switch (draw(12)) {
    case 0:
      return draw(300000);
    case 1:
      return 4000 + draw(20000);
    case 2:
      return 0;
    default:
      return draw(700);
  }
}

static void random_blocks(void) {
  unsigned char* blocks[kBlocks] = {NULL};
  size_t sizes[kBlocks];
  for (int step = 0; step < 4000; ++step) {
    const unsigned i = draw(kBlocks);
    const size_t bytes = draw_size();
    if (!blocks[i]) {
      void* aligned = NULL;
      switch (draw(4)) {
        case 0: {
          unsigned char* zero = calloc(1, bytes);
          for (size_t k = 0; k < bytes; k += 1 + bytes / 11)
            check(zero[k] == 0, "calloc: not zero");
          blocks[i] = noted(zero, bytes);
          break;
        }
        case 1: {
          const size_t alignment = (size_t)64 << draw(7);
          check(posix_memalign(&aligned, alignment, bytes) == 0, "posix_memalign");
          check((uintptr_t)aligned % alignment == 0, "posix_memalign: not aligned");
          blocks[i] = noted(aligned, bytes);
          break;
        }
        default:
          blocks[i] = noted(malloc(bytes), bytes);
      }
      sizes[i] = bytes;
      continue;
    }
    check_filled(blocks[i], sizes[i]);
    if (draw(2) && bytes) {
      const size_t kept = bytes < sizes[i] ? bytes : sizes[i];
      const unsigned char with = sizes[i] & 255;
      blocks[i] = realloc(blocks[i], bytes);
      check(blocks[i] != NULL, "realloc");
      for (size_t k = 0; k < kept; k += 1 + kept / 37)
        check(blocks[i][k] == with, "realloc: other bytes");
      sizes[i] = bytes;
      noted(blocks[i], bytes);
    } else {
      free(blocks[i]);
      blocks[i] = NULL;
    }
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (unsigned)rank * 7919u + 1;
  random_blocks();
  char* copy = strdup("a text of this rank");
  noted(copy, strlen(copy) + 1);
  static int global = 7;
  note(&global, sizeof global);
  note(&copy, sizeof copy); /* on the stack */
  note(argv[0], strlen(argv[0]) + 1);

  /* The ranges of all ranks are apart. */
  uintptr_t own[2] = {low, high}, *all = malloc(sizeof own * (size_t)size);
  MPI_Allgather(own, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, MPI_COMM_WORLD);
  const char* of = getenv("FGMPI_HEAP");
  for (int i = 0; i < size && of && !strcmp(of, "rank"); ++i)
    if (i != rank)
      check(all[2 * i] >= high || all[2 * i + 1] <= low, "memory in the range of another rank");

  /* A rank of the same process frees what this one has allocated. */
  MPI_Comm here;
  int local, locals;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_rank(here, &local);
  MPI_Comm_size(here, &locals);
  char* lent = malloc(5000 + (size_t)rank);
  memset(lent, rank & 127, 5000);
  struct {
    char* block;
    long process;
  } mine = {lent, 0}, other;
  FILE* self = fopen("/proc/self/stat", "r");
  check(self && fscanf(self, "%ld", &mine.process) == 1, "/proc/self/stat");
  fclose(self);
  MPI_Sendrecv(&mine, (int)sizeof mine, MPI_BYTE, (local + 1) % locals, 0, &other,
               (int)sizeof other, MPI_BYTE, (local + locals - 1) % locals, 0, here,
               MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  const int takes = other.process == mine.process;
  if (takes) free(other.block);
  int taken;
  MPI_Sendrecv(&takes, 1, MPI_INT, (local + locals - 1) % locals, 1, &taken, 1, MPI_INT,
               (local + 1) % locals, 1, here, MPI_STATUS_IGNORE);
  if (!taken) free(lent);
  MPI_Comm_free(&here);
  random_blocks();
  free(all);
  MPI_Finalize();
  return 0;
}
