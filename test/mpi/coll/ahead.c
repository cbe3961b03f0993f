/* Members of gathers and scatters may go on before the others, and use their buffers again: each
 * of many collectives in a row has its own data, however slow the root or another member is. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

enum { kRounds = 40 };

/* Byte `at` of what passes between the root and `rank` in a round. */
static char byte_of(int round, int rank, int at) { return (char)(round * 31 + rank * 7 + at); }

static void fill(char* buffer, int bytes, int round, int rank) {
  for (int i = 0; i < bytes; ++i) buffer[i] = byte_of(round, rank, i);
}

static void expect(const char* buffer, int bytes, int round, int rank) {
  for (int i = 0; i < bytes; ++i) CHECK(buffer[i] == byte_of(round, rank, i));
}

/* Parts of the v forms: every third rank has none. */
static int length_of(int rank, int bytes, int v) { return v ? rank % 3 * bytes / 2 : bytes; }

typedef struct {
  MPI_Comm comm;
  int rank, size, bytes, v, root;
  char *mine, *all;
  int *counts, *displs;
} Job;

static void gather(Job* j, int round) {
  int n = length_of(j->rank, j->bytes, j->v);
  fill(j->mine, n, round, j->rank);
  if (j->v)
    OK(MPI_Gatherv(j->mine, n, MPI_CHAR, j->all, j->counts, j->displs, MPI_CHAR, j->root, j->comm));
  else
    OK(MPI_Gather(j->mine, n, MPI_CHAR, j->all, j->bytes, MPI_CHAR, j->root, j->comm));
  memset(j->mine, -1, (size_t)n);
  for (int r = 0; j->rank == j->root && r < j->size; ++r)
    expect(j->all + j->displs[r], j->counts[r], round, r);
}

static void scatter(Job* j, int round) {
  int n = length_of(j->rank, j->bytes, j->v);
  for (int r = 0; j->rank == j->root && r < j->size; ++r)
    fill(j->all + j->displs[r], j->counts[r], round, r);
  if (j->v)
    OK(MPI_Scatterv(j->all, j->counts, j->displs, MPI_CHAR, j->mine, n, MPI_CHAR, j->root,
                    j->comm));
  else
    OK(MPI_Scatter(j->all, j->bytes, MPI_CHAR, j->mine, n, MPI_CHAR, j->root, j->comm));
  memset(j->all, -1, (size_t)j->displs[j->size]);
  expect(j->mine, n, round, j->rank);
}

/* Which rank arrives late: none, the root, another one. */
static void linger(const Job* j, int who) {
  int late = who == 1 ? j->root : who == 2 ? (j->root + 1) % j->size : -1;
  for (int i = 0; j->rank == late && i < 3; ++i) OK(MPIX_Yield());
}

static void in_a_row(MPI_Comm comm, int bytes, int v) {
  Job j = {comm, 0, 0, bytes, v, 0, NULL, NULL, NULL, NULL};
  OK(MPI_Comm_rank(comm, &j.rank));
  OK(MPI_Comm_size(comm, &j.size));
  j.counts = malloc(sizeof(int) * (size_t)j.size);
  j.displs = calloc((size_t)j.size + 1, sizeof(int));
  for (int r = 0; r < j.size; ++r) {
    j.counts[r] = length_of(r, bytes, v);
    j.displs[r + 1] = j.displs[r] + j.counts[r];
  }
  j.mine = malloc((size_t)bytes + 1);
  j.all = malloc((size_t)j.displs[j.size] + 1);
  for (int who = 0; who < 3; ++who)
    for (int round = 0; round < kRounds; ++round) {
      j.root = round / 10 % j.size; /* some in a row with the same */
      linger(&j, who);
      if (round % 10 < 4)
        gather(&j, round);
      else if (round % 10 < 8)
        scatter(&j, round);
      else
        round % 2 ? gather(&j, round) : scatter(&j, round);
    }
  free(j.counts);
  free(j.displs);
  free(j.mine);
  free(j.all);
}

int main(int argc, char** argv) {
  const int sizes[] = {0, 8, 1024, 1026, 40000};
  int rank, size;
  MPI_Comm reversed, halves;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &halves)); /* every other rank */
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
    for (int v = 0; v < 2; ++v) {
      in_a_row(MPI_COMM_WORLD, sizes[i], v);
      in_a_row(reversed, sizes[i], v);
      in_a_row(halves, sizes[i], v);
    }
  OK(MPI_Comm_free(&reversed));
  OK(MPI_Comm_free(&halves));
  return finish();
}
