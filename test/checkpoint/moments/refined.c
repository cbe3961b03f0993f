/* A mesh that is refined where a front passes, in the style of adaptive codes: in each step the ranks that refine make a
 * communicator, move patches by nonblocking messages of derived types, and free all of it again. A few lines a
 * phase tell how it goes on; the sums are integers, so each run prints the same. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PHASES = 6, STEPS = 12, CELLS = 40 };

typedef struct {
  long level, marks;
  double places[2];
} Patch;

static int rank, size;

static MPI_Datatype patch_type(void) {
  MPI_Datatype type, resized;
  const int lengths[] = {2, 2};
  const MPI_Aint places[] = {0, 2 * sizeof(long)};
  const MPI_Datatype parts[] = {MPI_LONG, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, parts, &type);
  MPI_Type_create_resized(type, 0, sizeof(Patch), &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&type);
  return resized;
}

/* Moves the patches of one rank to the next one of the communicator. */
static long rotate(MPI_Comm comm, Patch* patches, int n) {
  int own, members;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &members);
  MPI_Datatype type = patch_type();
  Patch* come = malloc(sizeof *come * n);
  MPI_Request requests[2 * CELLS];
  for (int i = 0; i < n; ++i)
    MPI_Irecv(&come[i], 1, type, (own + members - 1) % members, i, comm, &requests[i]);
  for (int i = 0; i < n; ++i)
    MPI_Isend(&patches[i], 1, type, (own + 1) % members, i, comm, &requests[n + i]);
  MPI_Type_free(&type);
  MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    patches[i] = come[i];
    patches[i].marks += own;
    sum += patches[i].level * 31 + patches[i].marks + (long)patches[i].places[1];
  }
  free(come);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int n = 5 + rank % 7;
  Patch* patches = calloc(CELLS, sizeof *patches);
  for (int i = 0; i < CELLS; ++i) patches[i] = (Patch){i % 3, rank, {i, i + 1.}};
  long total = 0;
  for (int phase = 0; phase < PHASES; ++phase) {
    long sum = 0, all = 0, counts[2] = {0, 0}, most[2];
    for (int step = 0; step < STEPS; ++step) {
      MPI_Comm level, pair;
      const int refines = (rank + step * 3 + phase) % 4 != 0;
      MPI_Comm_split(MPI_COMM_WORLD, refines ? (rank + step) % 2 : MPI_UNDEFINED, -rank, &level);
      if (level != MPI_COMM_NULL) {
        int fewest;
        MPI_Allreduce(&n, &fewest, 1, MPI_INT, MPI_MIN, level);
        sum += rotate(level, patches, fewest);
        MPI_Comm_dup(level, &pair);
        MPI_Request request;
        MPI_Ireduce(&sum, &counts[0], 1, MPI_LONG, MPI_MAX, 0, pair, &request);
        MPI_Comm_free(&pair); /* while the sum is under way */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&level);
      }
      Patch* grown = realloc(patches, sizeof *patches * (CELLS + step + 1));
      patches = grown;
      patches[CELLS + step] = patches[step];
      n = 4 + (n + step + rank) % 9;
      counts[1] += n;
    }
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(counts, most, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    total += most[1];
    if (rank == 0) printf("phase %d: %ld %ld %ld\n", phase, all, most[0], total);
  }
  free(patches);
  MPI_Finalize();
  return 0;
}
