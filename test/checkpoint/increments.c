/* Checkpoints that leave out what the one before has: between them a few pages change, others become
 * zero, are freed, or are used for the first time. */
#include "checkpoint.h"

enum { kBlocks = 40, kBytes = 64 << 10, kRounds = 10 };
static unsigned char* blocks[kBlocks];
static unsigned char expected[kBlocks]; /* 0: freed; else each byte at a multiple of 64 */
static unsigned char variables[300000];

static void fill(int i, unsigned char value) {
  for (int at = 0; at < kBytes; at += 64) blocks[i][at] = value;
}

static void check(void) {
  for (int i = 0; i < kBlocks; ++i)
    for (int at = 0; blocks[i] && at < kBytes; at += 64) CHECK(blocks[i][at] == expected[i]);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = malloc(kBytes);
    fill(i, expected[i] = (unsigned char)(1 + i + rank));
  }
  for (int round = 0; round < kRounds; ++round) {
    checkpoint();
    check();
    for (int k = 0; k < round; ++k) CHECK(variables[k * 20000] == 1 + k);
    /* The checkpoint gets its name meanwhile, and the next one can be based on it. */
    const double until = MPI_Wtime() + 0.15;
    while (MPI_Wtime() < until) MPI_Barrier(MPI_COMM_SELF);
    const int changed = (round * 7 + rank) % kBlocks, zero = (round * 11 + 3) % kBlocks,
              freed = (round * 5 + 1) % kBlocks;
    variables[round * 20000] = (unsigned char)(1 + round);
    if (blocks[changed]) fill(changed, expected[changed] = (unsigned char)(100 + round));
    if (blocks[zero]) memset(blocks[zero], expected[zero] = 0, kBytes);
    free(blocks[freed]);
    blocks[freed] = NULL;
    if (round % 3 == 2) {
      blocks[freed] = malloc(kBytes);
      fill(freed, expected[freed] = (unsigned char)(200 + round));
    }
    check();
  }
  return finish();
}
