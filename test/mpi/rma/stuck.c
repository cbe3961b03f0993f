/* Programs that wait for ever, or leave something behind; reports.sh checks the reports about
 * them. */
#include <mpi.h>
#include <string.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size;
  MPI_Win win;
  char* memory;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  if (argc > 1 && !strcmp(argv[1], "lock")) {
    /* Rank 0 holds the lock and waits for a message of rank 1, which waits for the lock. */
    if (rank == 0) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_Recv(memory, 1, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 1) OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  } else if (argc > 1 && !strcmp(argv[1], "start")) {
    MPI_Group all;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    if (rank == 0) OK(MPI_Win_start(all, 0, win)); /* nobody posts */
    OK(MPI_Barrier(MPI_COMM_WORLD));
  } else if (rank == 0) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, size - 1, 0, win)); /* and never unlocks it */
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  return 0;
}
