/* The other collectives, and arrays whose contents change while their addresses do not. */
#include "corpus.h"

static void scatter(MPI_Comm comm, int root) {
  int mine[3], *all = (int*)malloc(sizeof(int) * 3 * (size_t)g_size);
  for (int i = 0; i < 6; ++i) {
    fill(all, 3 * g_size, root, i);
    MPI_Scatter(all, 3, MPI_INT, mine, 3, MPI_INT, root, comm); /* hoist: must */
    add_ints(mine, 3);
  }
  free(all);
}

/* The paper's figure 1. */
static void scatterv(MPI_Comm comm, int root) {
  int total = 0, *counts = (int*)malloc(sizeof(int) * (size_t)g_size),
      *displs = (int*)malloc(sizeof(int) * (size_t)g_size);
  for (int r = 0; r < g_size; ++r) {
    counts[r] = r % 3 == 1 ? 0 : r % 5 + 1;
    displs[r] = total;
    total += counts[r] + 1;
  }
  int *all = (int*)malloc(sizeof(int) * (size_t)(total + 1)), mine[8];
  for (int i = 0; i < 20; ++i) {
    fill(all, total, root, i);
    MPI_Scatterv(all, counts, displs, MPI_INT, mine, counts[g_rank], MPI_INT, root,
                 comm); /* hoist: may */
    add_ints(mine, counts[g_rank]);
  }
  int count = counts[g_rank];
  for (int i = 0; i < 20; ++i) {
    fill(all, total, root, i);
    MPI_Scatterv(all, counts, displs, MPI_INT, mine, count, MPI_INT, root, comm); /* hoist: must */
    add_ints(mine, count);
  }
  free(all);
  free(counts);
  free(displs);
}

/* The same arrays with other contents: each round takes the parts from elsewhere. */
static void changing_contents(MPI_Comm comm) {
  int *counts = (int*)malloc(sizeof(int) * (size_t)g_size),
      *displs = (int*)malloc(sizeof(int) * (size_t)g_size);
  int *all = (int*)malloc(sizeof(int) * 6 * (size_t)g_size), got[3];
  for (int r = 0; r < g_size; ++r) counts[r] = 3;
  for (int i = 0; i < 12; ++i) {
    for (int r = 0; r < g_size; ++r) displs[r] = (r + i / 3) % g_size * 6 + i % 3;
    fill(all, 6 * g_size, 0, i);
    MPI_Scatterv(all, counts, displs, MPI_INT, got, 3, MPI_INT, 0, comm); /* hoist: must */
    add_ints(got, 3);
  }
  free(counts), free(displs), free(all);
}

static void allgatherv(MPI_Comm comm) {
  int total = 0, *counts = (int*)malloc(sizeof(int) * (size_t)g_size),
      *displs = (int*)malloc(sizeof(int) * (size_t)g_size);
  for (int r = 0; r < g_size; ++r) counts[r] = r % 4, displs[r] = total, total += counts[r];
  int *all = (int*)malloc(sizeof(int) * (size_t)(total + 1)), mine[4], count = counts[g_rank];
  for (int i = 0; i < 6; ++i) {
    fill(mine, 4, g_rank, i + g_rank);
    MPI_Allgatherv(mine, count, MPI_INT, all, counts, displs, MPI_INT, comm); /* hoist: must */
    add_ints(all, total);
  }
  /* The same with values that move from rank to rank: the sum stays, so does the count of this
   * rank. */
  for (int i = 0; i < 6; ++i) {
    for (int r = 0; r < g_size; ++r) displs[r] = total - displs[r] - counts[r];
    fill(mine, 4, g_rank, i + g_rank);
    MPI_Allgatherv(mine, count, MPI_INT, all, counts, displs, MPI_INT, comm); /* hoist: must */
    add_ints(all, total);
  }
  for (int i = 0; i < 3; ++i) {
    fill(all + displs[g_rank], count, g_rank, i + g_rank);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displs, MPI_INT,
                   comm); /* hoist: must */
    add_ints(all, total);
  }
  free(all), free(counts), free(displs);
}

static void alltoallw(MPI_Comm comm) {
  size_t n = (size_t)g_size;
  int *counts = (int*)malloc(sizeof(int) * n), *displs = (int*)malloc(sizeof(int) * n);
  int *out = (int*)malloc(sizeof(int) * 2 * n), *in = (int*)malloc(sizeof(int) * 2 * n);
  MPI_Datatype* types = (MPI_Datatype*)malloc(sizeof(MPI_Datatype) * n);
  for (int r = 0; r < g_size; ++r)
    counts[r] = (r + g_rank) % 3, displs[r] = r * 8, types[r] = MPI_INT;
  for (int i = 0; i < 6; ++i) {
    fill(out, 2 * g_size, g_rank, i * 7 + g_rank);
    memset(in, 0, sizeof(int) * 2 * n);
    MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, comm); /* hoist: must */
    add_ints(in, 2 * g_size);
    if (i == 3)
      for (int r = 0; r < g_size; ++r) types[r] = MPI_FLOAT, counts[r] = (r + g_rank) % 2;
  }
  free(counts), free(displs), free(out), free(in), free(types);
}

static void large_bcast(MPI_Comm comm) {
  int* buffer = (int*)malloc(sizeof(int) * 30000);
  MPI_Datatype pairs;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  for (int i = 0; i < 4; ++i) {
    fill(buffer, 30000, 0, i);
    MPI_Bcast(buffer, 30000, MPI_INT, 0, comm); /* hoist: must */
    add_ints(buffer, 30000);
    fill(buffer, 30, 0, i);
    MPI_Bcast(buffer, 10, pairs, 0, comm); /* hoist: may */
    for (int k = 0; k < 10; ++k) add_int(buffer[3 * k]), add_int(buffer[3 * k + 2]);
  }
  MPI_Type_free(&pairs);
  free(buffer);
}

static void mixed(MPI_Comm comm) {
  int buffer[4], mine[2], *all = (int*)malloc(sizeof(int) * 2 * (size_t)g_size), sum;
  for (int i = 0; i < 5; ++i) {
    fill(buffer, 4, 0, i);
    MPI_Bcast(buffer, 4, MPI_INT, 0, comm); /* hoist: must */
    MPI_Allreduce(&buffer[1], &sum, 1, MPI_INT, MPI_SUM, comm);
    fill(all, 2 * g_size, 0, sum);
    MPI_Scatter(all, 2, MPI_INT, mine, 2, MPI_INT, 0, comm); /* hoist: must */
    MPI_Barrier(comm);
    add_ints(mine, 2);
  }
  free(all);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  scatter(comm, 0);
  scatter(comm, g_size - 1);
  scatterv(comm, 0);
  scatterv(comm, g_size / 2);
  allgatherv(comm);
  alltoallw(comm);
  large_bcast(comm);
  mixed(comm);
  changing_contents(comm);
  MPI_Comm_free(&comm);
  return end();
}
