/* Many communicators: made and freed in a loop, kept, freed in another order than made, with
 * messages pending. */
#include "mpitest.h"

int main(int argc, char** argv) {
  enum { kLoop = 3000, kKeep = 500 };
  int rank, size, i, value = 1, got;
  MPI_Comm c, *kept = malloc(sizeof(MPI_Comm) * kKeep);
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (i = 0; i < kLoop / (size > 16 ? 10 : 1); ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    OK(MPI_Comm_free(&c));
  }
  for (i = 0; i < kKeep; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &kept[i]));
  for (i = 0; i < kKeep; i += 7) {
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, i, &got, 1, MPI_INT,
                    (rank + size - 1) % size, i, kept[i], MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size);
  }
  for (i = 1; i < kKeep; i += 2) OK(MPI_Comm_free(&kept[i]));
  for (i = kKeep - 2; i >= 0; i -= 2) OK(MPI_Comm_free(&kept[i]));
  /* Freed while a receive is pending: it completes all the same. */
  for (i = 0; i < 10; ++i) {
    MPI_Request r;
    MPI_Status status;
    MPI_Comm mine;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &mine));
    got = -1;
    value = 10 * i + rank;
    OK(MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 3, mine, &r));
    if (i % 2) {
      MPI_Request s;
      MPI_Comm copy = mine;
      OK(MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, 3, mine, &s));
      OK(MPI_Comm_free(&mine));
      OK(MPI_Wait(&s, &status));
      (void)copy;
    } else {
      OK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 3, mine));
      OK(MPI_Comm_free(&mine));
    }
    OK(MPI_Wait(&r, &status));
    CHECK(got == 10 * i + (rank + size - 1) % size);
  }
  free(kept);
  return finish();
}
