/* Collocated ranks that call different collectives, or name different roots, all get an error that
 * says who did what. */
#include <string.h>

#include "mpitest.h"

static void expect(int code, int class_, const char* word) {
  char text[MPI_MAX_ERROR_STRING];
  int length, c;
  OK(MPI_Error_class(code, &c));
  CHECK(c == class_);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, word) != NULL);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size, value[2000] = {0}, out[2000];
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (size > 1) {
    expect(
        rank == 1 ? MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD) : MPI_Barrier(MPI_COMM_WORLD),
        MPI_ERR_OTHER, "MPI_Bcast");
    expect(rank == 0 ? MPI_Allgather(value, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD)
                     : MPI_Allreduce(value, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           MPI_ERR_OTHER, "MPI_Allgather");
    expect(MPI_Bcast(value, 1, MPI_INT, rank == 0 ? 1 : 0, MPI_COMM_WORLD), MPI_ERR_ROOT, "root");
    expect(MPI_Bcast(value, 2000, MPI_INT, rank == 0 ? 1 : 0, MPI_COMM_WORLD), MPI_ERR_ROOT,
           "root");
    expect(MPI_Bcast(value, rank == 0 ? 1024 : 1025, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_OTHER,
           "amount");
    MPI_Request request;
    int code = rank == 0
                   ? MPI_Ibarrier(MPI_COMM_WORLD, &request)
                   : MPI_Iallreduce(value, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    OK(code);
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "MPI_Ibarrier");
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  return finish();
}
