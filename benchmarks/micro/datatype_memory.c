/* Memory of derived datatypes, for any MPI library: bytes by which a process grows, for each type
 * and rank.
 *
 *   mpiexec -n 1 datatype_memory                 one rank
 *   mpiexec -n 1 -nfg 1000 datatype_memory       ranks that make the same types */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTypes = 1000, kMillion = 1000000 };

/* Memory that the allocator could give back counts as given back. */
static long resident_kib(void) {
  malloc_trim(0);
  long kib = -1;
  char line[200];
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "RssAnon: %ld kB", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
static MPI_Datatype vector(int i) {
  MPI_Datatype type;
  MPI_Type_vector(10 + i, 1, 3, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype structure(int i) {
  const int lengths[] = {1, 3, 1};
  const MPI_Aint places[] = {0, 8, 32 + i};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  return committed(type);
}
/* A million blocks of two doubles: every third, or with random gaps. */
static int* g_places;
static MPI_Datatype blocks(int random) {
  MPI_Datatype type;
  srand(1);
  for (int i = 0, at = 0; i < kMillion; ++i) {
    g_places[i] = at;
    at += random ? 2 + rand() % 16 : 3;
  }
  MPI_Type_create_indexed_block(kMillion, 2, g_places, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype regular_blocks(int i) { return i ? MPI_DATATYPE_NULL : blocks(0); }
static MPI_Datatype random_blocks(int i) { return i ? MPI_DATATYPE_NULL : blocks(1); }

static void measure(const char* name, MPI_Datatype (*make)(int), int count) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static MPI_Datatype types[kTypes];
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = resident_kib();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) types[i] = make(i);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("%-44s %12.1f bytes for each rank\n", name,
           (double)(resident_kib() - before) * 1024 / count / size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) MPI_Type_free(&types[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  g_places = calloc(kMillion, sizeof *g_places);
  for (int i = 0; i < kMillion; ++i) g_places[i] = i;
  MPI_Datatype first = vector(5000); /* what a library needs for its first type */
  measure("a vector, of 1,000 different ones", vector, kTypes);
  measure("a structure of three members, of 1,000", structure, kTypes);
  measure("a million blocks, every third double", regular_blocks, 1);
  measure("a million blocks, random gaps", random_blocks, 1);
  MPI_Type_free(&first);
  MPI_Finalize();
  return 0;
}
