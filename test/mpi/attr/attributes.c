/* Attributes on communicators: callbacks, their order, copies, predefined ones; error handlers and
 * names. */
#include <string.h>

#include "mpitest.h"

typedef struct {
  int copies, deletes, last_deleted;
} Log;

static int copy_fn(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval;
  ((Log*)extra)->copies++;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int no_copy_fn(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_SUCCESS;
}
static int failing_copy_fn(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}
static int delete_fn(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)value;
  ((Log*)extra)->deletes++;
  ((Log*)extra)->last_deleted = keyval;
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  int error_class;
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Error_class(*code, &error_class);
  MPI_Comm_get_name(*comm, name, &length);
  if (error_class == MPI_ERR_RANK && strcmp(name, "counted") == 0) *code = MPI_SUCCESS;
}

/* A keyval that is freed more than once while attributes hold it, also by its own delete function,
 * which deletes the attribute too. */
static int freed_within;
static int freeing_delete_fn(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)value, (void)extra;
  for (int i = 0; i < 2; i++) {
    int key = keyval;
    if (MPI_Comm_free_keyval(&key) != MPI_SUCCESS || key != MPI_KEYVAL_INVALID)
      return MPI_ERR_OTHER;
  }
  if (comm != MPI_COMM_SELF && freed_within++ == 0) return MPI_Comm_delete_attr(comm, keyval);
  return MPI_SUCCESS;
}

static void test_freed_keyvals(void) {
  int keyval, key, flag, word = 7;
  void* got;
  MPI_Comm a, b;
  freed_within = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, freeing_delete_fn, &keyval, NULL));
  OK(MPI_Comm_set_attr(a, keyval, &word));
  for (int i = 0; i < 3; i++) {
    key = keyval;
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
  }
  OK(MPI_Comm_get_attr(a, keyval, &got, &flag));
  CHECK(flag && got == &word);
  OK(MPI_Comm_dup(a, &b));
  OK(MPI_Comm_free(&a));
  OK(MPI_Comm_get_attr(b, keyval, &got, &flag));
  CHECK(flag && got == &word);
  OK(MPI_Comm_set_attr(b, keyval,
                       &flag)); /* deletes the old value, and with it all that was freed */
  OK(MPI_Comm_free(&b));
  CHECK(freed_within >= 2);
  key = keyval;
  CHECK(MPI_Comm_free_keyval(&key) != MPI_SUCCESS); /* nothing holds it any more */
}

static void test_attributes(void) {
  Log log = {0, 0, 0};
  char cell[8];
  int copied, dropped, fails, flag, word = 3;
  void* got;
  MPI_Comm a, b;
  OK(MPI_Comm_create_keyval(copy_fn, delete_fn, &copied, &log));
  OK(MPI_Comm_create_keyval(no_copy_fn, delete_fn, &dropped, &log));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
  OK(MPI_Comm_get_attr(a, copied, &got, &flag));
  CHECK(!flag);
  OK(MPI_Comm_set_attr(a, copied, cell));
  OK(MPI_Comm_set_attr(a, dropped, &word));
  OK(MPI_Comm_get_attr(a, copied, &got, &flag));
  CHECK(flag && got == cell);
  OK(MPI_Comm_dup(a, &b));
  CHECK(log.copies == 1);
  OK(MPI_Comm_get_attr(b, copied, &got, &flag));
  CHECK(flag && got == cell + 1);
  OK(MPI_Comm_get_attr(b, dropped, &got, &flag));
  CHECK(!flag);
  /* Replacing deletes the old value; freeing deletes the rest, the latest first. */
  OK(MPI_Comm_set_attr(a, dropped, cell));
  CHECK(log.deletes == 1 && log.last_deleted == dropped);
  OK(MPI_Comm_delete_attr(a, dropped));
  CHECK(log.deletes == 2);
  OK(MPI_Comm_set_attr(a, dropped, cell));
  {
    int freed = copied;
    OK(MPI_Comm_free_keyval(&freed)); /* lives on while attributes use it */
    CHECK(freed == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_get_attr(a, copied, &got, &flag)); /* and is read and deleted by its old number */
    CHECK(flag);
    OK(MPI_Comm_delete_attr(b, copied));
    CHECK(log.deletes == 3 && log.last_deleted == copied);
  }
  OK(MPI_Comm_free(&a));
  CHECK(log.deletes == 5 && log.last_deleted == copied);
  OK(MPI_Comm_free(&b));
  CHECK(log.deletes == 5);
  OK(MPI_Comm_free_keyval(&dropped));
  /* Duplicates by the predefined function; a copy function that fails forbids the duplicate. */
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &copied, NULL));
  OK(MPI_Comm_create_keyval(failing_copy_fn, MPI_COMM_NULL_DELETE_FN, &fails, NULL));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
  OK(MPI_Comm_set_attr(a, copied, cell));
  {
    MPI_Request r;
    OK(MPI_Comm_idup(a, &b, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
  OK(MPI_Comm_get_attr(b, copied, &got, &flag));
  CHECK(flag && got == cell);
  OK(MPI_Comm_free(&b));
  OK(MPI_Comm_set_attr(a, fails, cell));
  OK(MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN));
  CHECK(MPI_Comm_dup(a, &b) != MPI_SUCCESS);
  CHECK(b == MPI_COMM_NULL);
  OK(MPI_Comm_free(&a));
  OK(MPI_Comm_free_keyval(&copied));
  OK(MPI_Comm_free_keyval(&fails));
}

static void test_predefined(void) {
  int* value;
  int flag;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag && *value >= 32767);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  CHECK(!flag || *value == 0 || *value == 1);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK(flag && *value >= MPI_ERR_LASTCODE);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
  CHECK(flag);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  CHECK(flag);
}

static void test_names_and_handlers(int rank, int size) {
  MPI_Comm c;
  MPI_Errhandler h, got;
  char name[MPI_MAX_OBJECT_NAME];
  int length, code, error_class, value = 1;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &c));
  OK(MPI_Comm_get_name(c, name, &length));
  CHECK(length == 0);
  OK(MPI_Comm_set_name(c, "counted"));
  OK(MPI_Comm_create_errhandler(on_error, &h));
  OK(MPI_Comm_set_errhandler(c, h));
  OK(MPI_Errhandler_free(&h));
  CHECK(h == MPI_ERRHANDLER_NULL);
  CHECK(MPI_Send(&value, 1, MPI_INT, size + 3, 0, c) == MPI_SUCCESS);
  OK(MPI_Comm_get_errhandler(c, &got));
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Comm_call_errhandler(c, MPI_ERR_RANK));
  OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  code = MPI_Send(&value, 1, MPI_INT, size + 3, 0, c);
  OK(MPI_Error_class(code, &error_class));
  CHECK(error_class == MPI_ERR_RANK);
  {
    /* Use after free names the communicator. */
    MPI_Comm gone = c;
    char words[MPI_MAX_ERROR_STRING];
    OK(MPI_Comm_free(&c));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Send(&value, 1, MPI_INT, rank, 0, gone);
    OK(MPI_Error_class(code, &error_class));
    CHECK(error_class == MPI_ERR_COMM);
    OK(MPI_Error_string(code, words, &length));
    CHECK(strstr(words, "counted") != NULL);
    CHECK(MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}) != MPI_SUCCESS || rank < 0);
  }
}

static void test_hints(void) {
  MPI_Info info, got;
  MPI_Comm c;
  char value[32];
  int flag;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "fgmpi_groupmap", "space"));
  OK(MPI_Info_set(info, "something_else", "1"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &c));
  OK(MPI_Comm_get_info(c, &got));
  OK(MPI_Info_get(got, "mpi_assert_no_any_tag", 31, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0);
  OK(MPI_Info_get(got, "fgmpi_groupmap", 31, value, &flag));
  CHECK(flag && strcmp(value, "space") == 0);
  OK(MPI_Info_get(got, "something_else", 31, value, &flag));
  CHECK(!flag);
  OK(MPI_Info_free(&got));
  /* A duplicate has no hints of its parent (MPI-4.0 section 7.4.2). */
  for (int i = 0; i < 2; i++) {
    MPI_Comm d;
    MPI_Request r;
    if (i == 0)
      OK(MPI_Comm_dup(c, &d));
    else
      OK(MPI_Comm_idup(c, &d, &r));
    if (i == 1) OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_info(d, &got));
    OK(MPI_Info_get(got, "mpi_assert_no_any_tag", 31, value, &flag));
    CHECK(flag && strcmp(value, "false") == 0);
    OK(MPI_Info_get(got, "fgmpi_groupmap", 31, value, &flag));
    CHECK(!flag);
    OK(MPI_Info_free(&got));
    OK(MPI_Comm_free(&d));
  }
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
  OK(MPI_Comm_set_info(c, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_info(c, &got));
  OK(MPI_Info_get(got, "mpi_assert_no_any_tag", 31, value, &flag));
  CHECK(flag && strcmp(value, "false") == 0);
  OK(MPI_Info_free(&got));
  OK(MPI_Comm_free(&c));
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  test_attributes();
  test_freed_keyvals();
  test_predefined();
  test_names_and_handlers(rank, size);
  test_hints();
  return finish();
}
