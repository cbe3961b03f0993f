/* FG-MPI's interface: a source, filters and a sink, each a function of its own, placed at random by
 * the map. Each process shuffles for itself, with the same seed, when the map is asked for the
 * first time. Filters add and multiply in the order of the stages, so that a wrong place or order
 * gives a wrong sum. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

enum { kItems = 200, kTag = 5 };

static int* g_stage_of = NULL; /* stage of each rank; shared by the ranks of a process */
static int g_ranks = 0;

static void place(int ranks) {
  unsigned seed = 20100621;
  int i;
  g_ranks = ranks;
  g_stage_of = malloc(ranks * sizeof(int));
  for (i = 0; i < ranks; ++i) g_stage_of[i] = i;
  for (i = ranks - 1; i > 0; --i) {
    int j, t;
    seed = seed * 1103515245u + 12345u;
    j = (int)((seed >> 8) % (unsigned)(i + 1));
    t = g_stage_of[i], g_stage_of[i] = g_stage_of[j], g_stage_of[j] = t;
  }
}

static int rank_of(int stage) {
  int r;
  for (r = 0; r < g_ranks; ++r)
    if (g_stage_of[r] == stage) return r;
  return MPI_PROC_NULL;
}

static unsigned apply(unsigned value, int stage) {
  return stage % 2 ? value * 3u + (unsigned)stage : value + 17u;
}

static PROCESS source(int argc, char** argv) {
  unsigned i;
  OK(MPI_Init(&argc, &argv));
  for (i = 0; i < kItems; ++i) OK(MPI_Send(&i, 1, MPI_UNSIGNED, rank_of(1), kTag, MPI_COMM_WORLD));
  OK(MPI_Finalize());
  return 0;
}

static PROCESS filter(int argc, char** argv) {
  int rank, i, stage;
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  stage = g_stage_of[rank];
  for (i = 0; i < kItems; ++i) {
    unsigned value;
    OK(MPI_Recv(&value, 1, MPI_UNSIGNED, rank_of(stage - 1), kTag, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    value = apply(value, stage);
    OK(MPI_Send(&value, 1, MPI_UNSIGNED, rank_of(stage + 1), kTag, MPI_COMM_WORLD));
  }
  OK(MPI_Finalize());
  return 0;
}

static PROCESS sink(int argc, char** argv) {
  int i, stage;
  OK(MPI_Init(&argc, &argv));
  for (i = 0; i < kItems; ++i) {
    unsigned value, wanted = (unsigned)i;
    OK(MPI_Recv(&value, 1, MPI_UNSIGNED, rank_of(g_ranks - 2), kTag, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    for (stage = 1; stage < g_ranks - 1; ++stage) wanted = apply(wanted, stage);
    CHECK(value == wanted);
  }
  printf(" No Errors\n");
  OK(MPI_Finalize());
  return 0;
}

static PROCESS alone(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  printf(" No Errors\n");
  OK(MPI_Finalize());
  return 0;
}

static FG_ProcessPtr_t map(int argc, char** argv, int rank) {
  (void)argc;
  if (rank == MAP_INIT_ACTION) place(atoi(argv[1]));
  if (rank == MAP_FINALIZE_ACTION) free(g_stage_of);
  if (rank < 0) return NULL;
  if (g_ranks == 1) return &alone;
  return g_stage_of[rank] == 0 ? &source : g_stage_of[rank] == g_ranks - 1 ? &sink : &filter;
}

static FG_ProcessPtr_t map_without_ranks(int argc, char** argv, int rank) {
  (void)argc, (void)argv, (void)rank;
  return NULL;
}

static FG_MapPtr_t lookup(int argc, char** argv, char* name) {
  (void)argc, (void)argv;
  if (name && !strcmp(name, "nobody")) return &map_without_ranks;
  if (name && strcmp(name, "random")) return NULL;
  return &map;
}

int main(int argc, char* argv[]) {
  if (argc != 2) {
    printf("Usage: %s RANKS\n", argv[0]);
    return 0;
  }
  return FGmpiexec(&argc, &argv, &lookup) == MPI_SUCCESS ? 0 : 4;
}
