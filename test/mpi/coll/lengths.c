/* A broadcast whose root sends less or more than the others take: each of them gets an error, and
 * nobody waits for what never comes. */
#include "mpitest.h"

enum { kMost = 4000 };

static void expect_truncated(int code) {
  int c;
  OK(MPI_Error_class(code, &c));
  CHECK(c == MPI_ERR_TRUNCATE);
}

static void broadcast(int root, int from_root, int expected) {
  int rank, value[kMost] = {0};
  MPI_Request request;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  int count = rank == root ? from_root : expected;
  int code = MPI_Bcast(value, count, MPI_INT, root, MPI_COMM_WORLD);
  if (rank != root) expect_truncated(code);
  OK(MPI_Ibcast(value, count, MPI_INT, root, MPI_COMM_WORLD, &request));
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank != root) expect_truncated(code);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (size > 1) {
    broadcast(0, 1, 10);
    broadcast(size - 1, 10, 1);
    broadcast(size / 2, 3000, 3001);
    broadcast(0, kMost, 2500);
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  return finish();
}
