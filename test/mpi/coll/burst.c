/* Very many nonblocking collectives at once: the memory that they needed is given back soon
 * after. */
#include <time.h>
#include <unistd.h>

#include "usage.h"

int main(int argc, char** argv) {
  enum { kBurst = 60000 };
  static MPI_Request r[kBurst];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kBurst; i++) r[i] = MPI_REQUEST_NULL;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  long before = resident_kib(), most = 0, after = 0;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < kBurst; i++) OK(MPI_Ibarrier(MPI_COMM_WORLD, &r[i]));
    OK(MPI_Waitall(kBurst, r, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    most = resident_kib();
    /* Soon, but on a busy machine later. */
    int resting = 1;
    for (int i = 0; i < 200 && resting; i++) {
      usleep(50000);
      after = resident_kib();
      int mine = after - before > 40000;
      OK(MPI_Allreduce(&mine, &resting, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
  }
  if (after - before > 40000) {
    printf("rank %d: %ld KiB before, %ld with all, %ld after\n", rank, before, most, after);
    CHECK(0);
  }
  return finish();
}
