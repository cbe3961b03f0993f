/* Ranks whose deputies call MPI for them: functions of the program run as the rank, also where they call MPI in turn; errors are
 * those of the call. */
#include "checkpoint.h"

enum { kBig = 300000 };

static void** mine;
static int calls;

/* The rank itself runs, on its stack, which is larger than that of a helper. */
static void check_rank(void) {
  volatile char many[kBig];
  int i;
  for (i = 0; i < kBig; i += 4096) many[i] = 1;
  CHECK(MPIX_Tool_word() == mine && many[0] == 1);
  ++calls;
}

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  int i, bytes;
  MPI_Type_size(*type, &bytes);
  CHECK(bytes == (int)sizeof(int));
  check_rank();
  for (i = 0; i < *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static int copy_value(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  int n;
  MPI_Comm_size(comm, &n);
  check_rank();
  (void)keyval;
  (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

/* The attribute is a communicator, which may have such an attribute itself. */
static int free_value(MPI_Comm comm, int keyval, void* value, void* extra) {
  MPI_Comm* inner = value;
  (void)comm;
  (void)keyval;
  ++*(int*)extra;
  check_rank();
  if (!inner) return MPI_SUCCESS;
  MPI_Barrier(*inner);
  return MPI_Comm_free(inner);
}

static void functions(void) {
  MPI_Op op;
  MPI_Request request;
  MPI_Comm comm, copy;
  int keyval, freed = 0, value = rank + 1, sum = 0;
  const int all = size * (size + 1) / 2;
  MPI_Op_create(add, 1, &op);
  calls = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  CHECK(sum == all);
  sum = 0;
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == all);
  MPI_Reduce_local(&value, &sum, 1, MPI_INT, op);
  CHECK(sum == all + value && calls > 0);
  MPI_Op_free(&op);

  MPI_Comm_create_keyval(copy_value, free_value, &keyval, &freed);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_attr(comm, keyval, NULL);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&copy);
  CHECK(freed == 1);
  MPI_Comm_free(&comm);
  CHECK(freed == 2);
  MPI_Comm_free_keyval(&keyval);
}

static void nested(void) {
  MPI_Comm comms[4];
  int keyval, freed = 0, i;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_value, &keyval, &freed);
  for (i = 3; i >= 0; --i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_set_attr(comms[i], keyval, i < 3 ? &comms[i + 1] : NULL);
  }
  MPI_Comm_free(&comms[0]);
  CHECK(freed == 4 && comms[3] == MPI_COMM_NULL);
  MPI_Comm_free_keyval(&keyval);
}

/* A deputy's call takes two switches; what the rank is asked about itself takes none, once its objects are there. */
static void who_calls(void) {
  enum { kCalls = 100 };
  MPI_Comm comm;
  MPI_Group group;
  MPI_Count before, between, after;
  int i, n;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_group(comm, &group);
  MPI_Comm_size(comm, &n);
  before = MPIX_Tool_counter("switches");
  for (i = 0; i < kCalls; ++i) MPI_Comm_size(comm, &n);
  between = MPIX_Tool_counter("switches");
  for (i = 0; i < kCalls; ++i) MPI_Group_size(group, &n);
  after = MPIX_Tool_counter("switches");
  CHECK(between == before && after >= between + 2 * kCalls);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
}

/* ---- Errors */

static int errors, error_class;

static void handle(MPI_Comm* comm, int* code, ...) {
  MPI_Comm copy;
  check_rank();
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Barrier(copy);
  MPI_Comm_free(&copy);
  MPI_Error_class(*code, &error_class);
  (void)comm;
  ++errors;
}

static void errors_of_calls(void) {
  MPI_Errhandler handler, before;
  MPI_Comm comm;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int value = 0, big[2] = {1, 2}, code, class_;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  errors = 0;
  code = MPI_Bcast(&value, 1, MPI_INT, size, comm);
  MPI_Error_class(code, &class_);
  CHECK(errors == 1 && error_class == MPI_ERR_ROOT && class_ == MPI_ERR_ROOT);
  code = MPI_Send(&value, 1, MPI_INT, size, 0, comm);
  MPI_Error_class(code, &class_);
  CHECK(errors == 2 && error_class == MPI_ERR_RANK && class_ == MPI_ERR_RANK);
  /* A receive that is too small, beside a collective. */
  MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &requests[0]);
  MPI_Ibarrier(comm, &requests[1]);
  MPI_Send(big, 2, MPI_INT, rank, 1, comm);
  code = MPI_Waitall(2, requests, statuses);
  MPI_Error_class(code, &class_);
  CHECK(class_ == MPI_ERR_IN_STATUS && errors == 3);
  MPI_Error_class(statuses[0].MPI_ERROR, &class_);
  CHECK(class_ == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
  MPI_Comm_get_errhandler(comm, &before);
  CHECK(before == handler);
  MPI_Errhandler_free(&before);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

/* Ends the job by an error, or waits for ever: reports are compared with those without deputies. */
static void end_badly(const char* how) {
  int value = 0;
  MPI_Request request;
  if (strcmp(how, "root") == 0 && rank == size - 1)
    MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD);
  if (strcmp(how, "operation") == 0 && rank == size - 1)
    MPI_Allreduce(&value, &rank, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(how, "destination") == 0 && rank == size - 1)
    MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  if (strcmp(how, "wait") == 0 && rank == size - 1) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  if (rank % 2)
    MPI_Barrier(MPI_COMM_WORLD);
  else
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (argc > 1) end_badly(argv[1]);
  mine = MPIX_Tool_word();
  who_calls();
  functions();
  nested();
  errors_of_calls();
  return finish();
}
