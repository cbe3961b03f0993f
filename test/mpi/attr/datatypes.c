/* Attributes on datatypes: copies by MPI_Type_dup, deletion by MPI_Type_free and at the end,
 * functions that fail and functions that call MPI; predefined types have each rank's own. */
#include <string.h>

#include "error_class.h"
#include "mpitest.h"

static int rank, copies, deletes, refuse, at_end;
static void* last_extra;

static int copy_fn(MPI_Datatype type, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)keyval;
  ++copies;
  last_extra = extra;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Calls MPI, also what lets other ranks run. */
static int delete_fn(MPI_Datatype type, int keyval, void* value, void* extra) {
  int sent = rank, got = -1;
  (void)type, (void)keyval, (void)value;
  if (refuse) return MPI_ERR_OTHER;
  ++deletes;
  last_extra = extra;
  MPI_Sendrecv(&sent, 1, MPI_INT, 0, 7, &got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return got == rank ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int delete_at_end(MPI_Datatype type, int keyval, void* value, void* extra) {
  int finalized = 1, seen = -1;
  (void)keyval, (void)extra;
  MPI_Finalized(&finalized);
  MPI_Comm_rank(MPI_COMM_WORLD, &seen);
  if (type == MPI_INT && *(int*)value == 100 + rank && !finalized && seen == rank) ++at_end;
  return MPI_SUCCESS;
}

static void test_functions(void) {
  char cell[8], extra;
  int keyval, flag;
  void* got;
  MPI_Datatype type, twin;
  OK(MPI_Type_create_keyval(copy_fn, delete_fn, &keyval, &extra));
  OK(MPI_Type_vector(2, 1, 3, MPI_INT, &type)); /* never committed: attributes do not need that */
  OK(MPI_Type_get_attr(type, keyval, &got, &flag));
  CHECK(!flag);
  OK(MPI_Type_set_attr(type, keyval, cell));
  OK(MPI_Type_get_attr(type, keyval, &got, &flag));
  CHECK(flag && got == cell);
  OK(MPI_Type_dup(type, &twin));
  CHECK(copies == 1 && last_extra == &extra);
  OK(MPI_Type_get_attr(twin, keyval, &got, &flag));
  CHECK(flag && got == cell + 1);
  OK(MPI_Type_free(&twin));
  CHECK(deletes == 1 && twin == MPI_DATATYPE_NULL && last_extra == &extra);
  /* Setting again deletes the value before. */
  OK(MPI_Type_set_attr(type, keyval, cell + 2));
  CHECK(deletes == 2);
  refuse = 1;
  CHECK(MPI_Type_dup(type, &twin) != MPI_SUCCESS && copies == 2);
  CHECK(MPI_Type_free(&type) != MPI_SUCCESS && type != MPI_DATATYPE_NULL);
  CHECK(MPI_Type_delete_attr(type, keyval) != MPI_SUCCESS);
  refuse = 0;
  OK(MPI_Type_get_attr(type, keyval, &got, &flag));
  CHECK(flag && got == cell + 2);
  OK(MPI_Type_delete_attr(type, keyval));
  CHECK(deletes == 3);
  OK(MPI_Type_set_attr(type, keyval, cell));
  /* The keyval lives while an attribute uses it. */
  OK(MPI_Type_free_keyval(&keyval));
  CHECK(keyval == MPI_KEYVAL_INVALID);
  OK(MPI_Type_free(&type));
  CHECK(deletes == 4);
}

static void test_errors(void) {
  int of_type, of_comm, flag;
  void* got;
  OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &of_type, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL));
  CHECK(class_of(MPI_Type_set_attr(MPI_INT, of_comm, NULL)) == MPI_ERR_KEYVAL);
  CHECK(class_of(MPI_Comm_set_attr(MPI_COMM_WORLD, of_type, NULL)) == MPI_ERR_KEYVAL);
  CHECK(class_of(MPI_Type_set_attr(MPI_INT, MPI_KEYVAL_INVALID, NULL)) == MPI_ERR_KEYVAL);
  CHECK(class_of(MPI_Type_set_attr(MPI_DATATYPE_NULL, of_type, NULL)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Type_get_attr((MPI_Datatype)-1, of_type, &got, &flag)) == MPI_ERR_TYPE);
  OK(MPI_Type_free_keyval(&of_type));
  OK(MPI_Comm_free_keyval(&of_comm));
}

int main(int argc, char** argv) {
  int keyval, flag, size;
  void* got;
  static int value;
  MPI_Datatype pair;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  test_functions();
  test_errors();
  /* One keyval number, one handle, an attribute of each rank. */
  value = 100 + rank;
  OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_at_end, &keyval, NULL));
  OK(MPI_Type_set_attr(MPI_INT, keyval, &value));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Type_get_attr(MPI_INT, keyval, &got, &flag));
  CHECK(flag && *(int*)got == 100 + rank);
  OK(MPI_Type_get_attr(MPI_FLOAT_INT, keyval, &got, &flag));
  CHECK(!flag);
  /* This type is not freed: as in MPICH, its attribute's delete callback is not called at the
   * end. */
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_set_attr(pair, keyval, &value));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) printf(" No Errors\n");
  OK(MPI_Finalize());
  return at_end == 1 ? 0 : 1;
}
