/* Communicators that live for known times: lives. Three copies of MPI_COMM_WORLD are made, kept for
 * 30 ms and freed, one after the other; halves of it live for 100 ms; a copy of these is never
 * freed. Rank 0 prints of each making and freeing, in this order, the time before the first rank's
 * call and behind the last rank's: NAME SECONDS SECONDS. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 16 };
static double before[kMost], after[kMost];
static const char* names[kMost];
static int count;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void begins(const char* name) {
  names[count] = name;
  before[count] = now();
}
static void ends(void) { after[count++] = now(); }
static void frees(const char* name, MPI_Comm* comm) {
  begins(name);
  MPI_Comm_free(comm);
  ends();
}

int main(int argc, char** argv) {
  int rank;
  double first[kMost], last[kMost];
  MPI_Comm copy, half, kept;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; ++i) {
    begins("copy");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    ends();
    usleep(30000);
    frees("-copy", &copy);
  }
  begins("half");
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  ends();
  begins("kept");
  MPI_Comm_dup(half, &kept);
  ends();
  usleep(100000);
  frees("-half", &half);
  MPI_Reduce(before, first, count, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(after, last, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < count; ++i)
    printf("%s %.9f %.9f\n", names[i], first[i], last[i]);
  return MPI_Finalize();
}
