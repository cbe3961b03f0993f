/* Error classes, codes and strings that programs add are numbered by rank: what a rank gets depends
 * on what it has added, not on its neighbours in the process. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

/* MPICH's mpi.h has these in version 4.0 only; MPI_Remove_error_class and its like are MPI 4.1's. */
int MPIX_Delete_error_class(int errorclass);
int MPIX_Delete_error_code(int errorcode);
int MPIX_Delete_error_string(int errorcode);

static int last_used(void) {
  int* last;
  int flag;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag);
  return *last;
}

static void expect_text(int code, const char* wanted) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  OK(MPI_Error_string(code, text, &length));
  CHECK(!strcmp(text, wanted) && length == (int)strlen(wanted));
}

static void expect_class(int code, int wanted) {
  int class;
  OK(MPI_Error_class(code, &class));
  CHECK(class == wanted);
}

static int seen = 0;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  seen = *code;
}

int main(int argc, char** argv) {
  int rank, size, early;
  OK(MPI_Add_error_class(&early)); /* allowed before MPI_Init */
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(early > MPI_ERR_LASTCODE && last_used() == early);
  expect_class(early, early);
  expect_text(early, "");
  /* Ranks add different numbers of them, in turns with others. */
  int mine = 1 + rank % 3, classes[3], codes[3], first[2];
  for (int i = 0; i < mine; ++i) {
    char text[64];
    OK(MPI_Add_error_class(&classes[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Add_error_code(classes[i], &codes[i]));
    CHECK(last_used() >= codes[i] && last_used() >= classes[i]);
    snprintf(text, sizeof text, "class %d of rank %d", i, rank);
    OK(MPI_Add_error_string(classes[i], text));
    snprintf(text, sizeof text, "code %d of rank %d", i, rank);
    OK(MPI_Add_error_string(codes[i], text));
  }
  for (int i = mine; i < 3; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < mine; ++i) {
    char text[64];
    snprintf(text, sizeof text, "class %d of rank %d", i, rank);
    expect_text(classes[i], text);
    snprintf(text, sizeof text, "code %d of rank %d", i, rank);
    expect_text(codes[i], text);
    expect_class(codes[i], classes[i]);
    expect_class(classes[i], classes[i]);
  }
  /* All ranks have the same numbers for what they added first. */
  first[0] = classes[0];
  first[1] = codes[0];
  OK(MPI_Bcast(first, 2, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(first[0] == classes[0] && first[1] == codes[0]);
  /* A code in a class of MPI. */
  int code, other;
  OK(MPI_Add_error_code(MPI_ERR_RANK, &code));
  expect_class(code, MPI_ERR_RANK);
  CHECK(last_used() >= code);
  /* Handlers get them. */
  MPI_Errhandler own;
  OK(MPI_Comm_create_errhandler(handler, &own));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, own));
  OK(MPI_Errhandler_free(&own));
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, codes[0]);
  CHECK(seen == codes[0]);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  /* What is wrong is said. */
  int unknown = classes[mine - 1] + 7;
  expect_class(unknown, MPI_ERR_UNKNOWN);
  CHECK(MPI_Add_error_string(MPI_ERR_RANK, "no") != MPI_SUCCESS);
  CHECK(MPI_Add_error_string(unknown, "no") != MPI_SUCCESS);
  CHECK(MPI_Add_error_code(unknown, &other) != MPI_SUCCESS);
  CHECK(MPI_Add_error_code(codes[0], &other) != MPI_SUCCESS);
  char too_long[MPI_MAX_ERROR_STRING + 1];
  memset(too_long, 'x', sizeof too_long - 1);
  too_long[sizeof too_long - 1] = 0;
  CHECK(MPI_Add_error_string(codes[0], too_long) != MPI_SUCCESS);
  too_long[MPI_MAX_ERROR_STRING - 1] = 0;
  OK(MPI_Add_error_string(codes[0], too_long));
  expect_text(codes[0], too_long);
  /* Deleted numbers are unknown, and are not given out again while there are others. */
  CHECK(MPIX_Delete_error_class(classes[0]) != MPI_SUCCESS); /* it has a code */
  OK(MPIX_Delete_error_string(codes[0]));
  expect_text(codes[0], "");
  OK(MPIX_Delete_error_code(codes[0]));
  OK(MPIX_Delete_error_class(classes[0]));
  CHECK(MPIX_Delete_error_class(classes[0]) != MPI_SUCCESS);
  expect_class(classes[0], MPI_ERR_UNKNOWN);
  OK(MPI_Add_error_class(&other));
  CHECK(other != classes[0]);
  OK(MPIX_Delete_error_class(other));
  for (int i = 0; i < 1000; ++i) {
    int again, its_code;
    OK(MPI_Add_error_class(&again));
    OK(MPI_Add_error_code(again, &its_code));
    OK(MPI_Add_error_string(its_code, "again"));
    expect_class(its_code, again);
    for (int k = 1; k < mine; ++k) CHECK(again != classes[k] && its_code != codes[k]);
    OK(MPI_Remove_error_string(its_code));
    expect_text(its_code, "");
    CHECK(MPI_Remove_error_class(again) != MPI_SUCCESS);
    OK(MPI_Remove_error_code(its_code));
    OK(MPI_Remove_error_class(again));
  }
  return finish();
}
