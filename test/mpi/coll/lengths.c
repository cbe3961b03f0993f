/* A broadcast whose root sends less or more than the others take: each of them gets an error, and
 * nobody waits for what never comes. Gathers and scatters with a part that is longer than where it
 * is to go: the root of a gather gets an error, and the member that a scatter sends too much. */
#include "mpitest.h"

enum { kMost = 4000 };

static void expect_truncated(int code) {
  int c;
  OK(MPI_Error_class(code, &c));
  CHECK(c == MPI_ERR_TRUNCATE);
}

static void broadcast(int root, int from_root, int expected) {
  int rank, value[kMost] = {0};
  MPI_Request request;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  int count = rank == root ? from_root : expected;
  int code = MPI_Bcast(value, count, MPI_INT, root, MPI_COMM_WORLD);
  if (rank != root) expect_truncated(code);
  OK(MPI_Ibcast(value, count, MPI_INT, root, MPI_COMM_WORLD, &request));
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank != root) expect_truncated(code);
}

/* What the root of a gather or scatter holds: `count` elements of each rank. */
struct Parts {
  int *all, *counts, *displs;
};

static struct Parts equal_parts(int count) {
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  struct Parts p = {calloc((size_t)size * (size_t)count, sizeof(int)),
                    malloc(sizeof(int) * (size_t)size), malloc(sizeof(int) * (size_t)size)};
  for (int r = 0; r < size; ++r) {
    p.counts[r] = count;
    p.displs[r] = r * count;
  }
  return p;
}

static void free_parts(struct Parts p) {
  free(p.all);
  free(p.counts);
  free(p.displs);
}

/* Rank `odd` gives one element more than the root takes. */
static void gather(int root, int odd, int count, int v) {
  int rank, value[kMost] = {0};
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  struct Parts p = equal_parts(count);
  int mine = count + (rank == odd);
  int code = v ? MPI_Gatherv(value, mine, MPI_INT, p.all, p.counts, p.displs, MPI_INT, root,
                             MPI_COMM_WORLD)
               : MPI_Gather(value, mine, MPI_INT, p.all, count, MPI_INT, root, MPI_COMM_WORLD);
  if (rank == root) expect_truncated(code);
  free_parts(p);
}

/* Rank `odd` takes one element less than the root sends. */
static void scatter(int root, int odd, int count, int v) {
  int rank, value[kMost] = {0};
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  struct Parts p = equal_parts(count);
  int mine = count - (rank == odd);
  int code = v ? MPI_Scatterv(p.all, p.counts, p.displs, MPI_INT, value, mine, MPI_INT, root,
                              MPI_COMM_WORLD)
               : MPI_Scatter(p.all, count, MPI_INT, value, mine, MPI_INT, root, MPI_COMM_WORLD);
  if (rank == odd) expect_truncated(code);
  free_parts(p);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (size > 1) {
    broadcast(0, 1, 10);
    broadcast(size - 1, 10, 1);
    broadcast(size / 2, 3000, 3001);
    broadcast(0, kMost, 2500);
    for (int count = 1; count < kMost; count += 2000)
      for (int v = 0; v < 2; ++v) {
        gather(0, size - 1, count, v);
        gather(size - 1, 0, count, v);
        scatter(0, size - 1, count, v);
        scatter(size - 1, 0, count, v);
      }
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  return finish();
}
