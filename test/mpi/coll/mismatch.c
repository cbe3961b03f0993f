/* Collocated ranks that call different collectives, or name different roots, all get an error that
 * says who did what; but for those that had already returned from a gather or scatter. */
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

/* Ranks that had returned early have no error; at least one rank has, and each error names the
 * reason. */
static void told(int code, int class_, const char* word, int size) {
  int good = code == MPI_SUCCESS, all_good;
  if (!good) expect(code, class_, word);
  OK(MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(all_good < size);
}

static void roots_of_gathers_and_scatters(int rank, int size) {
  int few[1] = {0}, many[1000] = {0}, out[64000];
  int root = rank == 0 ? 1 : 0; /* ranks 0 and 1: each takes the other for the root */
  CHECK(size <= 64);
  told(MPI_Gather(few, 1, MPI_INT, out, 1, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT, "root",
       size);
  told(MPI_Gather(many, 1000, MPI_INT, out, 1000, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT,
       "root", size);
  told(MPI_Scatter(out, 1, MPI_INT, few, 1, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT, "root",
       size);
  told(MPI_Scatter(out, 1000, MPI_INT, many, 1000, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT,
       "root", size);
  /* Both take themselves for it. */
  root = rank == 1;
  told(MPI_Gather(few, 1, MPI_INT, out, 1, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT, "root",
       size);
  told(MPI_Scatter(out, 1, MPI_INT, few, 1, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT, "root",
       size);
  told(rank == 0 ? MPI_Gather(few, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD)
                 : MPI_Scatter(out, 1, MPI_INT, few, 1, MPI_INT, 0, MPI_COMM_WORLD),
       MPI_ERR_OTHER, "MPI_Gather", size);
  told(rank == 0 ? MPI_Scatter(out, 1, MPI_INT, few, 1, MPI_INT, 0, MPI_COMM_WORLD)
                 : MPI_Barrier(MPI_COMM_WORLD),
       MPI_ERR_OTHER, "MPI_Scatter", size);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size, value[2000] = {0}, out[2000];
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (size > 1) {
    roots_of_gathers_and_scatters(rank, size);
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
    MPI_Comm copy = MPI_COMM_NULL;
    expect(rank == 0 ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Comm_dup(MPI_COMM_WORLD, &copy),
           MPI_ERR_OTHER, "MPI_Comm_dup");
    expect(rank == 0 ? MPI_Comm_dup(MPI_COMM_WORLD, &copy) : MPI_Barrier(MPI_COMM_WORLD),
           MPI_ERR_OTHER, "MPI_Comm_dup");
    CHECK(copy == MPI_COMM_NULL);
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
