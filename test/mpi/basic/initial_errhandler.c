/* The error handler that mpiexec -initial-errhandler has named: "return", or "fatal" by default. */
#include <string.h>

#include "mpitest.h"

int main(int argc, char** argv) {
  MPI_Errhandler wanted = !strcmp(argv[1], "return") ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
  MPI_Init(&argc, &argv);
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 2; ++i) {
    MPI_Errhandler found;
    OK(MPI_Comm_get_errhandler(comms[i], &found));
    CHECK(found == wanted);
    OK(MPI_Errhandler_free(&found));
  }
  if (wanted == MPI_ERRORS_RETURN) CHECK(MPI_Barrier(MPI_COMM_NULL) != MPI_SUCCESS);
  return finish();
}
