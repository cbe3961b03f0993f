/* Codes under MPI_ERRORS_RETURN: class and message are right, for our own errors and for the
 * host's. */
#include <string.h>

#include "mpitest.h"

static void expect(int code, int wanted, const char* words) {
  int class_, length;
  char text[MPI_MAX_ERROR_STRING];
  CHECK(code != MPI_SUCCESS);
  OK(MPI_Error_class(code, &class_));
  OK(MPI_Error_string(code, text, &length));
  CHECK(class_ == wanted);
  CHECK((int)strlen(text) == length && strstr(text, words));
}

int main(int argc, char** argv) {
  int rank, size, x = 0, class_;
  MPI_Datatype type;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  /* A call without a communicator asks MPI_COMM_SELF, and MPI_COMM_WORLD while nobody set one
   * there. */
  expect(MPI_Type_contiguous(-2, MPI_INT, &type), MPI_ERR_COUNT, "count");
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  expect(MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is ");
  expect(MPI_Recv(&x, 1, MPI_INT, -5, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK,
         "source is -5");
  expect(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
  expect(MPI_Send(&x, 1, MPI_INT, 0, -3, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -3");
  expect(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Send");
  expect(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "null pointer");
  expect(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is ");
  expect(MPI_Comm_size(MPI_COMM_NULL, &x), MPI_ERR_COMM, "MPI_COMM_NULL");
  expect(MPI_Type_contiguous(-2, MPI_INT, &type), MPI_ERR_COUNT, "count");
  OK(MPI_Error_class(MPI_ERR_TRUNCATE, &class_));
  CHECK(class_ == MPI_ERR_TRUNCATE);
  for (int i = 0; i < 1000; ++i) { /* old messages are dropped, classes never */
    int code = MPI_Send(&x, 1, MPI_INT, size + i, 0, MPI_COMM_WORLD);
    OK(MPI_Error_class(code, &class_));
    CHECK(class_ == MPI_ERR_RANK);
  }
  return finish();
}
