/* Collectives in a loop with the same arguments: as plain calls, and opened by hand around the
 * loop. Built a second time with -fgmpi-hoist (coll_opened_hoisted), where the compiler opens the
 * plain ones.
 *
 *   coll_opened                         times of all, each way in turn, the best of several
 *   coll_opened KIND BYTES TIMES WAY    one of them alone (plain, hand), for coll_instructions.sh
 *
 * KIND: bcast, scatter, scatterv, one_to_five (scatterv to five ranks), allgatherv, alltoallw.
 * BYTES: of each part. */
#include <fgmpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm g_comm;
static int g_rank, g_size;

struct Data {
  char *one, *all;
  int bytes, *counts, *five, *displs, mine;
  MPI_Datatype* types;
};

/* The loops, once plain and once by hand. */
#define LOOPS(NAME, CALL, ...)                                                \
  static void NAME##_plain(struct Data* d, int times) {                       \
    char *one = d->one, *all = d->all;                                        \
    const int bytes = d->bytes, mine = d->mine;                               \
    const int *counts = d->counts, *five = d->five, *displs = d->displs;      \
    const MPI_Datatype* types = d->types;                                     \
    (void)one, (void)all, (void)bytes, (void)mine, (void)counts;              \
    (void)five, (void)displs, (void)types;                                    \
    for (int i = 0; i < times; ++i) MPI_##CALL(__VA_ARGS__);                  \
  }                                                                           \
  static void NAME##_hand(struct Data* d, int times) {                        \
    char *one = d->one, *all = d->all;                                        \
    const int bytes = d->bytes, mine = d->mine;                               \
    const int *counts = d->counts, *five = d->five, *displs = d->displs;      \
    const MPI_Datatype* types = d->types;                                     \
    (void)one, (void)all, (void)bytes, (void)mine, (void)counts;              \
    (void)five, (void)displs, (void)types;                                    \
    MPIX_##CALL##_open_group(__VA_ARGS__);                                    \
    for (int i = 0; i < times; ++i) MPIX_##CALL##_data_movement(__VA_ARGS__); \
    MPIX_##CALL##_close_group(__VA_ARGS__);                                   \
  }

LOOPS(bcast, Bcast, one, bytes, MPI_BYTE, 0, MPI_COMM_WORLD)
LOOPS(scatter, Scatter, all, bytes, MPI_BYTE, one, bytes, MPI_BYTE, 0, MPI_COMM_WORLD)
LOOPS(scatterv, Scatterv, all, counts, displs, MPI_BYTE, one, bytes, MPI_BYTE, 0, MPI_COMM_WORLD)
LOOPS(one_to_five, Scatterv, all, five, displs, MPI_BYTE, one, mine, MPI_BYTE, 0, MPI_COMM_WORLD)
LOOPS(allgatherv, Allgatherv, one, bytes, MPI_BYTE, all, counts, displs, MPI_BYTE, MPI_COMM_WORLD)
LOOPS(alltoallw, Alltoallw, all, counts, displs, types, all + bytes * g_size, counts, displs, types,
      MPI_COMM_WORLD)

static const struct Kind {
  const char* name;
  void (*ways[2])(struct Data*, int);
} g_kinds[] = {
    {"bcast", {bcast_plain, bcast_hand}},
    {"scatter", {scatter_plain, scatter_hand}},
    {"scatterv", {scatterv_plain, scatterv_hand}},
    {"one_to_five", {one_to_five_plain, one_to_five_hand}},
    {"allgatherv", {allgatherv_plain, allgatherv_hand}},
    {"alltoallw", {alltoallw_plain, alltoallw_hand}},
};

static struct Data data_of(int bytes) {
  struct Data d;
  d.bytes = bytes;
  d.one = calloc(1, (size_t)bytes + 1);
  d.all = calloc((size_t)g_size * 2, (size_t)bytes + 1);
  d.counts = malloc(sizeof(int) * (size_t)g_size);
  d.five = malloc(sizeof(int) * (size_t)g_size);
  d.displs = malloc(sizeof(int) * (size_t)g_size);
  d.types = malloc(sizeof(MPI_Datatype) * (size_t)g_size);
  const int step = g_size > 6 ? g_size / 6 : 1;
  for (int r = 0; r < g_size; ++r) {
    d.counts[r] = bytes;
    d.five[r] = r > 0 && r % step == 0 && r / step <= 5 ? bytes : 0;
    d.displs[r] = r * bytes;
    d.types[r] = MPI_BYTE;
  }
  d.mine = d.five[g_rank];
  return d;
}

static void drop(struct Data* d) {
  free(d->one), free(d->all), free(d->counts), free(d->five), free(d->displs), free(d->types);
}

/* Microseconds a call, the best of several rounds of each way in turn. */
static void measure(const struct Kind* kind, int bytes) {
  struct Data d = data_of(bytes);
  double best[2] = {1e9, 1e9};
  const int times = bytes > 1024 ? 500 : 2000;
  for (int round = 0; round < 12; ++round)
    for (int way = 0; way < 2; ++way) {
      MPI_Barrier(g_comm);
      double start = MPI_Wtime();
      kind->ways[way](&d, times);
      MPI_Barrier(g_comm);
      double us = (MPI_Wtime() - start) * 1e6 / times;
      if (us < best[way]) best[way] = us;
    }
  if (g_rank == 0)
    printf("%-12s %7d B  plain %8.3f us  by hand %8.3f us  ratio %.2f\n", kind->name, bytes,
           best[0], best[1], best[1] / best[0]);
  drop(&d);
}

int main(int argc, char** argv) {
  const size_t kinds = sizeof g_kinds / sizeof *g_kinds;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
  MPI_Comm_rank(g_comm, &g_rank);
  MPI_Comm_size(g_comm, &g_size);
  if (argc == 5) {
    for (size_t k = 0; k < kinds; ++k)
      if (!strcmp(argv[1], g_kinds[k].name)) {
        struct Data d = data_of(atoi(argv[2]));
        g_kinds[k].ways[!strcmp(argv[4], "hand")](&d, atoi(argv[3]));
        drop(&d);
      }
  } else {
    for (size_t k = 0; k < kinds; ++k)
      for (int bytes = 8; bytes <= 8192; bytes *= 32) measure(&g_kinds[k], bytes);
  }
  MPI_Comm_free(&g_comm);
  MPI_Finalize();
  return 0;
}
