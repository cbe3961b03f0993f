// Mistakes for mpiexec -rewind FILE -check, made in a run that depends on what comes from outside; and where the program's memory
// lies, which the checker must not change.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;

// Prints where a new block lies, and keeps some of them.
static void allocate(int round) {
  char* block = malloc(64 + (size_t)(round % 7) * 200);
  printf("rank %d, round %d: %p, stack %p\n", rank, round, (void*)block, (void*)&block);
  if (round % 3) free(block);
}

// Every rank gives rank 0 numbers that depend on a clock; rank 0 takes them as they come.
static void talk(int round) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int number = (int)(now.tv_nsec % 1000);
  if (rank > 0) {
    if (number % 2) MPI_Barrier(MPI_COMM_SELF);
    MPI_Send(&number, 1, MPI_INT, 0, round, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < size; ++i) {
    MPI_Status status;
    MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &status);
    printf("round %d: %d of rank %d\n", round, number, status.MPI_SOURCE);
  }
}

// An MPI call for each descriptor that is open: another one is another event.
static void try_descriptors(void) {
  for (int fd = 0; fd < 1024; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) MPI_Barrier(MPI_COMM_SELF);
}

static void make_mistake(const char* kind) {
  int value = rank;
  float other = 0;
  if (strcmp(kind, "leak") == 0 && rank == 1) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
  }
  if (strcmp(kind, "types") == 0) {
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&other, 1, MPI_FLOAT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(kind, "deadlock") == 0)
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(kind, "accesses") == 0) { /* no mistake: more than the checker compares */
    enum { kPuts = 17000 };
    double *cells, *values = malloc(kPuts * sizeof *values);
    MPI_Win window;
    MPI_Win_allocate(2 * kPuts * sizeof *cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &cells, &window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; rank == 1 && i < kPuts; ++i)
      MPI_Put(&values[i], 1, MPI_DOUBLE, 0, 2 * i, 1, MPI_DOUBLE, window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    printf("rank %d: %p\n", rank, (void*)values);
    free(values);
  }
  if (strcmp(kind, "root") == 0) MPI_Bcast(&value, 1, MPI_INT, rank == 1, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 20; ++round) {
    talk(round);
    allocate(round);
    int sum;
    MPI_Request request;
    MPI_Iallreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  try_descriptors();
  make_mistake(argc > 1 ? argv[1] : "none");
  MPI_Finalize();
  return 0;
}
