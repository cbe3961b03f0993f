/* Control variables that are written before MPI_Init count as if the environment had said so. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

static void write_variable(const char* name, const void* value, int expected) {
  MPI_T_cvar_handle handle;
  int index, count;
  OK(MPI_T_cvar_get_index(name, &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(MPI_T_cvar_write(handle, value) == expected);
  OK(MPI_T_cvar_handle_free(&handle));
}

static MPI_Count number_of(const char* name) {
  MPI_T_cvar_handle handle;
  MPI_Count number;
  int index, count;
  OK(MPI_T_cvar_get_index(name, &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  OK(MPI_T_cvar_read(handle, &number));
  OK(MPI_T_cvar_handle_free(&handle));
  return number;
}

/* Is rank 1 of the same process as rank 0? */
static int collocated(void) {
  const char* ranks = getenv("FGMPI_NFG");
  return ranks && atoi(ranks) > 1;
}

int main(int argc, char** argv) {
  const MPI_Count eager = 100, another = 200, bad = -1;
  const int no_item = 77;
  int provided, rank, size;
  char many[1000] = "";
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  write_variable("FGMPI_EAGER_LOCAL", &bad, MPI_T_ERR_INVALID);
  write_variable("FGMPI_SHM_CMA", &no_item, MPI_T_ERR_INVALID);
  write_variable("FGMPI_NFG", &another, MPI_T_ERR_CVAR_SET_NEVER);
  write_variable("FGMPI_EAGER_LOCAL", &eager, MPI_SUCCESS);
  CHECK(number_of("FGMPI_EAGER_LOCAL") == eager);
  OK(MPI_Init(&argc, &argv));
  CHECK(number_of("FGMPI_EAGER_LOCAL") == eager);
  write_variable("FGMPI_EAGER_LOCAL", &eager, MPI_SUCCESS);
  write_variable("FGMPI_EAGER_LOCAL", &another, MPI_T_ERR_CVAR_SET_NOT_NOW);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  /* Between ranks of a process a message above the limit waits for its receive, one below does
   * not. */
  if (size > 1 && collocated() && rank < 2) {
    MPI_Request r;
    int done;
    for (int bytes = 50; bytes <= 1000; bytes += 950) {
      if (rank == 0) {
        OK(MPI_Isend(many, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r));
        OK(MPI_Test(&r, &done, MPI_STATUS_IGNORE));
        CHECK(done == (bytes <= 100));
        OK(MPI_Barrier(MPI_COMM_SELF));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        if (!done) OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
      } else {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(many, 1000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      }
    }
  }
  OK(MPI_T_finalize());
  return finish();
}
