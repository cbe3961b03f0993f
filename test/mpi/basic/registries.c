/* What a rank registers is the rank's: each rank of a process gives other names, functions, extra
 * states and numbers to the same predefined objects, and to objects of its own that are made in
 * turns with its neighbours. All see what they have registered themselves, also when others have
 * ended. */
#include <string.h>

#include "mpitest.h"

static int rank, size;
static int called; /* by functions of this rank: each rank has its own */

/* ---- Names ----------------------------------------------------------------------------------- */

static void name_types(void) {
  MPI_Datatype f90;
  char name[64];
  snprintf(name, sizeof name, "int of rank %d", rank);
  if (rank % 3 != 2) OK(MPI_Type_set_name(MPI_INT, name));
  snprintf(name, sizeof name, "pair of rank %d", rank);
  OK(MPI_Type_set_name(MPI_DOUBLE_INT, name));
  OK(MPI_Type_create_f90_real(6, 30, &f90));
  snprintf(name, sizeof name, "real of rank %d", rank);
  OK(MPI_Type_set_name(f90, name));
}

static void expect_type_name(MPI_Datatype type, const char* wanted) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  OK(MPI_Type_get_name(type, name, &length));
  CHECK(strcmp(name, wanted) == 0 && length == (int)strlen(wanted));
}

static void expect_names_of_types(void) {
  MPI_Datatype f90, copy;
  char name[64];
  snprintf(name, sizeof name, "int of rank %d", rank);
  expect_type_name(MPI_INT, rank % 3 == 2 ? "MPI_INT" : name);
  expect_type_name(MPI_CHAR, "MPI_CHAR");
  snprintf(name, sizeof name, "pair of rank %d", rank);
  expect_type_name(MPI_DOUBLE_INT, name);
  OK(MPI_Type_create_f90_real(6, 30, &f90));
  snprintf(name, sizeof name, "real of rank %d", rank);
  expect_type_name(f90, name);
  OK(MPI_Type_dup(MPI_INT, &copy)); /* a name is not copied */
  expect_type_name(copy, "");
  OK(MPI_Type_set_name(copy, "copy"));
  expect_type_name(copy, "copy");
  OK(MPI_Type_free(&copy));
}

static void name_comms(void) {
  char name[64];
  snprintf(name, sizeof name, "world of rank %d", rank);
  if (rank % 3 != 2) OK(MPI_Comm_set_name(MPI_COMM_WORLD, name));
  OK(MPI_Comm_set_name(MPI_COMM_SELF, name));
}

static void expect_names_of_comms(void) {
  char name[MPI_MAX_OBJECT_NAME], wanted[64];
  int length;
  snprintf(wanted, sizeof wanted, "world of rank %d", rank);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(strcmp(name, wanted) == 0);
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, rank % 3 == 2 ? "MPI_COMM_WORLD" : wanted) == 0);
}

/* ---- Info objects ---------------------------------------------------------------------------- */

static void set_infos(void) {
  MPI_Info info;
  char value[32];
  snprintf(value, sizeof value, "%d", rank);
  if (rank % 3 != 2) OK(MPI_Info_set(MPI_INFO_ENV, "mine", value));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", rank % 2 ? "true" : "false"));
  OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
  OK(MPI_Info_free(&info));
}

static void expect_infos(void) {
  MPI_Info info;
  char value[32], wanted[32];
  int flag;
  snprintf(wanted, sizeof wanted, "%d", rank);
  OK(MPI_Info_get(MPI_INFO_ENV, "mine", sizeof value - 1, value, &flag));
  CHECK(flag == (rank % 3 != 2) && (!flag || strcmp(value, wanted) == 0));
  OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
  OK(MPI_Info_get(info, "mpi_assert_no_any_tag", sizeof value - 1, value, &flag));
  CHECK(flag && strcmp(value, rank % 2 ? "true" : "false") == 0);
  OK(MPI_Info_free(&info));
}

/* ---- Error handlers -------------------------------------------------------------------------- */

static int handled_code, handled_kind;
enum { kWorld = 1, kSelf, kFiles, kSession };
static void handle_world(MPI_Comm* comm, int* code, ...) {
  CHECK(*comm == MPI_COMM_WORLD);
  handled_code = *code;
  handled_kind = kWorld;
}
static void handle_self(MPI_Comm* comm, int* code, ...) {
  CHECK(*comm == MPI_COMM_SELF);
  handled_code = *code;
  handled_kind = kSelf;
}
static void handle_files(MPI_File* file, int* code, ...) {
  CHECK(*file == MPI_FILE_NULL);
  handled_code = *code;
  handled_kind = kFiles;
}
static void handle_session(MPI_Session* session, int* code, ...) {
  CHECK(*session != MPI_SESSION_NULL);
  handled_code = *code;
  handled_kind = kSession;
}

static MPI_Session session;

static void set_handlers(void) {
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(handle_world, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, rank % 2 ? handler : MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_create_errhandler(handle_self, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, rank % 3 ? handler : MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_File_create_errhandler(handle_files, &handler));
  if (rank % 2) OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Session_create_errhandler(handle_session, &handler));
  OK(MPI_Session_init(MPI_INFO_NULL, rank % 3 ? handler : MPI_ERRORS_RETURN, &session));
  OK(MPI_Errhandler_free(&handler));
}

static void expect_handled(int kind, int handled) {
  CHECK(handled_kind == (handled ? kind : 0));
  CHECK(handled_code == (handled ? MPI_ERR_OTHER : 0));
  handled_code = handled_kind = 0;
}

static void expect_handlers(void) {
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  expect_handled(kWorld, rank % 2);
  MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
  expect_handled(kSelf, rank % 3);
  MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER);
  expect_handled(kFiles, rank % 2);
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  expect_handled(kSession, rank % 3);
}

/* ---- Error classes, codes and strings -------------------------------------------------------- */

static int class, code;

static void add_errors(void) {
  char text[64];
  for (int i = 0; i <= rank % 3; ++i) OK(MPI_Add_error_class(&class));
  OK(MPI_Add_error_code(class, &code));
  snprintf(text, sizeof text, "an error of rank %d", rank);
  OK(MPI_Add_error_string(code, text));
}

static void expect_errors(void) {
  char text[MPI_MAX_ERROR_STRING], wanted[64];
  int length, found, *last;
  snprintf(wanted, sizeof wanted, "an error of rank %d", rank);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, wanted) == 0);
  OK(MPI_Error_class(code, &found));
  CHECK(found == class);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &found));
  CHECK(found && *last == code);
}

/* ---- Key values and attributes --------------------------------------------------------------- */

static int state;                           /* the extra state of this rank's functions */
static int keyvals[3], deleted, own_keyval; /* the first one, also after it is freed */

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  CHECK(comm != MPI_COMM_NULL && extra == &state && keyval == keyvals[0]);
  *(void**)out = (char*)in + 1;
  *flag = rank % 2; /* some ranks copy, others do not */
  ++called;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  CHECK(extra == &state && keyval == own_keyval && value);
  ++deleted;
  return MPI_SUCCESS;
}
static int delete_of_type(MPI_Datatype type, int keyval, void* value, void* extra) {
  (void)value;
  CHECK(type == MPI_INT && extra == &state && keyval == keyvals[1]);
  ++deleted;
  return MPI_SUCCESS;
}

static void* value_of_rank(int which) { return (void*)(long)(1000 * (rank + 1) + 10 * which); }

static void set_attributes(void) {
  MPI_Comm copy;
  void* value;
  int flag;
  OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyvals[0], &state));
  own_keyval = keyvals[0];
  OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &keyvals[1], &state));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyvals[2], NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyvals[0], value_of_rank(0)));
  if (rank % 3 != 2) OK(MPI_Type_set_attr(MPI_INT, keyvals[1], value_of_rank(1)));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[2], value_of_rank(2)));
  called = deleted = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK(called == 1);
  OK(MPI_Comm_get_attr(copy, keyvals[0], &value, &flag));
  CHECK(flag == rank % 2 && (!flag || value == (char*)value_of_rank(0) + 1));
  OK(MPI_Comm_free(&copy));
  CHECK(deleted == rank % 2);
}

static void expect_attributes(void) {
  void* value;
  int flag;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keyvals[0], &value, &flag));
  CHECK(flag && value == value_of_rank(0));
  OK(MPI_Type_get_attr(MPI_INT, keyvals[1], &value, &flag));
  CHECK(flag == (rank % 3 != 2) && (!flag || value == value_of_rank(1)));
  OK(MPI_Comm_get_attr(MPI_COMM_SELF, keyvals[2], &value, &flag));
  CHECK(flag && value == value_of_rank(2));
}

/* ---- Operations ------------------------------------------------------------------------------ */

static MPI_Op op;
static int factor; /* of this rank's operation */

static void combine(void* in, void* inout, int* count, MPI_Datatype* type) {
  CHECK(*type == MPI_INT);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] = factor * ((int*)in)[i] + ((int*)inout)[i];
  ++called;
}

static void expect_operation(void) {
  int a[2] = {1, 2}, b[2] = {10, 20};
  called = 0;
  OK(MPI_Reduce_local(a, b, 2, MPI_INT, op));
  CHECK(called == 1 && b[0] == 10 + factor && b[1] == 20 + 2 * factor);
}

/* ---- Generalized requests -------------------------------------------------------------------- */

static MPIX_Grequest_class greq_class;

static int query(void* extra, MPI_Status* status) {
  CHECK(extra == &state);
  OK(MPI_Status_set_elements(status, MPI_BYTE, rank + 1));
  OK(MPI_Status_set_cancelled(status, 0));
  return MPI_SUCCESS;
}
static int release(void* extra) {
  CHECK(extra == &state);
  ++called;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra, (void)complete;
  return MPI_SUCCESS;
}
static MPI_Request polled;
static int poll_request(void* extra, MPI_Status* status) {
  (void)status;
  CHECK(extra == &state);
  return MPI_Grequest_complete(polled);
}

static void expect_request(void) {
  MPI_Status status;
  int count;
  called = 0;
  OK(MPIX_Grequest_class_allocate(greq_class, &state, &polled));
  MPI_Request request = polled;
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK(count == rank + 1 && called == 1);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static char buffer[2000];

static void detach_buffer(void) {
  void* found;
  int bytes;
  OK(MPI_Buffer_detach(&found, &bytes));
  CHECK(found == buffer && bytes == 1000 + rank % 900);
}

static void expect_all(void) {
  expect_names_of_types();
  expect_names_of_comms();
  expect_infos();
  expect_handlers();
  expect_errors();
  expect_attributes();
  expect_operation();
  expect_request();
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  state = rank;
  factor = 2 + rank % 5;
  name_types();
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* ranks register in turns */
  name_comms();
  set_infos();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  set_handlers();
  add_errors();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  set_attributes();
  OK(MPI_Op_create(combine, 1, &op));
  OK(MPIX_Grequest_class_create(query, release, cancel, poll_request, NULL, &greq_class));
  OK(MPI_Buffer_attach(buffer, 1000 + rank % 900));
  OK(MPI_Pcontrol(rank % 3));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  expect_all();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) printf(" No Errors\n");
  /* Odd ranks give back what they have, and end; the others look again meanwhile and afterwards. */
  if (rank % 2) {
    detach_buffer();
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free_keyval(&keyvals[0]));
    OK(MPI_Type_delete_attr(MPI_INT, keyvals[1]));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Finalize());
    return 0;
  }
  for (int i = 0; i < 20; ++i) {
    int flag;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE)); /* others run */
    expect_all();
  }
  detach_buffer();
  OK(MPI_Op_free(&op));
  OK(MPI_Session_finalize(&session));
  OK(MPI_Finalize());
  return 0;
}
