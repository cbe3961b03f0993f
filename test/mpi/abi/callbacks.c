/* The standard ABI: functions of the program get its handles, codes and statuses, also nested ones. */
#include <mpi.h>
#include <string.h>

#include "mpitest.h"

static int rank, size;
static int calls_of_op, copies, deletions;
static int state_of_key = 42;

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  ++calls_of_op;
  int bytes;
  OK(MPI_Type_size(*type, &bytes));
  CHECK(bytes == 8 && *n >= 1);
  for (int i = 0; i < *n; ++i) ((double*)inout)[i] += ((double*)in)[i];
}
static void add_large(void* in, void* inout, MPI_Count* n, MPI_Datatype* type) {
  CHECK(*type == MPI_DOUBLE);
  for (MPI_Count i = 0; i < *n; ++i) ((double*)inout)[i] += ((double*)in)[i];
}
static void check_operations(void) {
  MPI_Op op;
  int commutes;
  OK(MPI_Op_create(add, 1, &op));
  OK(MPI_Op_commutative(op, &commutes));
  CHECK(commutes);
  double one[3] = {1, rank, 2}, sum[3];
  OK(MPI_Allreduce(one, sum, 3, MPI_DOUBLE, op, MPI_COMM_WORLD));
  CHECK(sum[0] == size && sum[1] == size * (size - 1) / 2.0 && sum[2] == 2.0 * size);
  MPI_Datatype pair;
  OK(MPI_Type_create_resized(MPI_DOUBLE, 0, 8, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Allreduce(one, sum, 3, pair, op, MPI_COMM_WORLD));
  CHECK(sum[0] == size);
  OK(MPI_Reduce_local(one, sum, 1, pair, op));
  CHECK(sum[0] == size + 1 && calls_of_op > 0);
  OK(MPI_Type_free(&pair));
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  OK(MPI_Op_create_c(add_large, 0, &op));
  OK(MPI_Scan(one, sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD));
  CHECK(sum[0] == rank + 1);
  OK(MPI_Op_free(&op));
}

static int copy(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  CHECK(state == &state_of_key && keyval != MPI_KEYVAL_INVALID);
  int members;
  OK(MPI_Comm_size(comm, &members)); /* nested, with the handle that was given */
  CHECK(members == size);
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return ++copies, MPI_SUCCESS;
}
static int delete_value(MPI_Comm comm, int keyval, void* value, void* state) {
  CHECK(comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID && value && state == &state_of_key);
  return ++deletions, MPI_SUCCESS;
}
static int refuse_copy(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)state, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_TRUNCATE;
}
static int delete_of_type(MPI_Datatype type, int keyval, void* value, void* state) {
  int bytes;
  OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == 12 && keyval != MPI_KEYVAL_INVALID && value == &rank && state == NULL);
  return ++deletions, MPI_SUCCESS;
}
static void check_attributes(void) {
  int key, flag;
  void* value;
  MPI_Comm first, second;
  OK(MPI_Comm_create_keyval(copy, delete_value, &key, &state_of_key));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
  OK(MPI_Comm_set_attr(first, key, (void*)100));
  OK(MPI_Comm_dup(first, &second));
  OK(MPI_Comm_get_attr(second, key, &value, &flag));
  CHECK(flag && value == (void*)101 && copies == 1);
  OK(MPI_Comm_delete_attr(second, key));
  CHECK(deletions == 1);
  OK(MPI_Comm_free(&second));
  OK(MPI_Comm_free(&first));
  CHECK(deletions == 2);
  OK(MPI_Comm_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);

  int dup_key, null_key;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_key, NULL));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
  OK(MPI_Comm_set_attr(first, dup_key, &rank));
  OK(MPI_Comm_set_attr(first, null_key, &rank));
  OK(MPI_Comm_dup(first, &second));
  OK(MPI_Comm_get_attr(second, dup_key, &value, &flag));
  CHECK(flag && value == &rank);
  OK(MPI_Comm_get_attr(second, null_key, &value, &flag));
  CHECK(!flag);
  OK(MPI_Comm_free(&second));
  OK(MPI_Comm_free(&first));

  /* A copy function's error is the result of the call that copies. */
  int refusing;
  OK(MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &refusing, NULL));
  OK(MPI_Comm_dup(MPI_COMM_SELF, &first));
  OK(MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_attr(first, refusing, &rank));
  int class;
  OK(MPI_Error_class(MPI_Comm_dup(first, &second), &class));
  CHECK(class == MPI_ERR_TRUNCATE);
  OK(MPI_Comm_free(&first));

  int type_key;
  MPI_Datatype type;
  OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, delete_of_type, &type_key, NULL));
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Type_set_attr(type, type_key, &rank));
  const int before = deletions;
  OK(MPI_Type_free(&type));
  CHECK(deletions == before + 1);
}

static int handled;
static int seen_class;
static void handle(MPI_Comm* comm, int* code, ...) {
  int members;
  OK(MPI_Comm_size(*comm, &members));
  OK(MPI_Error_class(*code, &seen_class));
  ++handled;
}
static void handle_win(MPI_Win* win, int* code, ...) {
  MPI_Group group;
  OK(MPI_Win_get_group(*win, &group));
  OK(MPI_Group_free(&group));
  OK(MPI_Error_class(*code, &seen_class));
  ++handled;
}
static void handle_file(MPI_File* file, int* code, ...) {
  int mode;
  OK(MPI_File_get_amode(*file, &mode));
  CHECK(mode & MPI_MODE_CREATE);
  OK(MPI_Error_class(*code, &seen_class));
  ++handled;
}
static void handle_session(MPI_Session* session, int* code, ...) {
  CHECK(*session != MPI_SESSION_NULL);
  OK(MPI_Error_class(*code, &seen_class));
  ++handled;
}
static void check_handlers(void) {
  MPI_Errhandler handler, got;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_create_errhandler(handle, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == handler);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL);
  CHECK(MPI_Send(&rank, 1, MPI_INT, 0, -7, comm) != MPI_SUCCESS);
  CHECK(handled == 1 && seen_class == MPI_ERR_TAG);
  OK(MPI_Comm_call_errhandler(comm, MPI_ERR_ROOT));
  CHECK(handled == 2 && seen_class == MPI_ERR_ROOT);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  CHECK(got == MPI_ERRORS_ARE_FATAL);

  MPI_Win win;
  OK(MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_create_errhandler(handle_win, &handler));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Win_call_errhandler(win, MPI_ERR_LOCKTYPE));
  CHECK(handled == 3 && seen_class == MPI_ERR_LOCKTYPE);
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Win_free(&win));

  MPI_File file;
  char name[64];
  snprintf(name, sizeof name, "abi_callbacks_%d", size);
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_create_errhandler(handle_file, &handler));
  OK(MPI_File_set_errhandler(file, handler));
  OK(MPI_File_call_errhandler(file, MPI_ERR_QUOTA));
  CHECK(handled == 4 && seen_class == MPI_ERR_QUOTA);
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_File_close(&file));

  MPI_Session session;
  OK(MPI_Session_create_errhandler(handle_session, &handler));
  OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  OK(MPI_Session_call_errhandler(session, MPI_ERR_SESSION));
  CHECK(handled == 5 && seen_class == MPI_ERR_SESSION);
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
  OK(MPI_Errhandler_free(&handler));
}

static int queried, freed;
static int query(void* state, MPI_Status* status) {
  CHECK(state == &queried);
  ++queried;
  OK(MPI_Status_set_elements(status, MPI_INT, 7));
  OK(MPI_Status_set_cancelled(status, 0));
  status->MPI_SOURCE = 3;
  status->MPI_TAG = MPI_ANY_TAG;
  return MPI_SUCCESS;
}
static int free_state(void* state) {
  CHECK(state == &queried);
  return ++freed, MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  CHECK(state == &queried);
  (void)complete;
  return MPI_SUCCESS;
}
static void check_requests(void) {
  MPI_Request request;
  MPI_Status status;
  int n, flag;
  OK(MPI_Grequest_start(query, free_state, cancel, &queried, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Test(&request, &flag, &status));
  CHECK(!flag);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Wait(&request, &status));
  CHECK(queried >= 1 && freed == 1 && request == MPI_REQUEST_NULL);
  OK(MPI_Get_count(&status, MPI_INT, &n));
  CHECK(n == 7 && status.MPI_SOURCE == 3 && status.MPI_TAG == MPI_ANY_TAG);
}

static int extent_of_file(MPI_Datatype type, MPI_Aint* extent, void* state) {
  CHECK(state == &state_of_key);
  int bytes;
  OK(MPI_Type_size(type, &bytes));
  *extent = bytes;
  return MPI_SUCCESS;
}
static int to_file(void* user, MPI_Datatype type, int n, void* file, MPI_Offset position,
                   void* state) {
  CHECK(state == &state_of_key && type == MPI_INT);
  for (int i = 0; i < n; ++i) ((int*)file)[i] = ~((int*)user)[(int)position + i];
  return MPI_SUCCESS;
}
static int from_file(void* user, MPI_Datatype type, int n, void* file, MPI_Offset position,
                     void* state) {
  CHECK(state == &state_of_key && type == MPI_INT);
  for (int i = 0; i < n; ++i) ((int*)user)[(int)position + i] = ~((int*)file)[i];
  return MPI_SUCCESS;
}
static void check_representations(void) {
  OK(MPI_Register_datarep("inverted", from_file, to_file, extent_of_file, &state_of_key));
  MPI_File file;
  char name[64];
  snprintf(name, sizeof name, "abi_datarep_%d", size);
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "inverted", MPI_INFO_NULL));
  int out = 5 + rank, in = 0, raw = 0;
  OK(MPI_File_write_at(file, rank, &out, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_sync(file));
  OK(MPI_File_read_at(file, rank, &in, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(in == out);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(file, rank, &raw, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(raw == ~out);
  OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  check_operations();
  check_attributes();
  check_handlers();
  check_requests();
  check_representations();
  return finish();
}
