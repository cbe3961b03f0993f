/* large [MIB]: each rank has so many MiB of memory (1) with noise; two checkpoints are taken, and the memory
 * is compared behind each. Between them the rank prints "second" and may be killed. */
#include "checkpoint.h"

static void fill(unsigned* words, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i) words[i] = seed = seed * 1664525u + 1013904223u;
}

static void check(const unsigned* words, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    CHECK(words[i] == seed);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const size_t count = (size_t)(argc > 1 ? atoi(argv[1]) : 1) << 18;
  unsigned* words = malloc(count * sizeof *words);
  int flag = 0;
  fill(words, count, 1 + rank);
  checkpoint();
  check(words, count, 1 + rank);
  fill(words, count, 77 + rank);
  if (rank == 0) printf("second\n");
  fflush(stdout);
  MPIX_Checkpoint(MPI_COMM_WORLD, &flag);
  if (rank == 0) printf("second: %d\n", flag);
  check(words, count, 77 + rank);
  free(words);
  return finish();
}
