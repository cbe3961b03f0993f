/* MPI_Request_get_status_all, _any and _some: what they say of requests of all kinds, that they
 * leave the requests as they are, and the errors that statuses have. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

static int rank, size;

static void check_empty(const MPI_Status* s) {
  int count = -1, cancelled = -1;
  CHECK(s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG &&
        s->MPI_ERROR == MPI_SUCCESS);
  OK(MPI_Get_count(s, MPI_INT, &count));
  OK(MPI_Test_cancelled(s, &cancelled));
  CHECK(count == 0 && !cancelled);
}

/* Null and inactive requests count as complete, with empty statuses. */
static void no_active_request(void) {
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[3];
  int flag, index, count, indices[3], data;
  OK(MPI_Send_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r[1]));
  memset(s, 0x55, sizeof s);
  flag = 0;
  OK(MPI_Request_get_status_all(3, r, &flag, s));
  CHECK(flag);
  for (int i = 0; i < 3; ++i) check_empty(&s[i]);
  flag = 0;
  OK(MPI_Request_get_status_any(3, r, &index, &flag, &s[0]));
  CHECK(flag && index == MPI_UNDEFINED);
  check_empty(&s[0]);
  OK(MPI_Request_get_status_some(3, r, &count, indices, s));
  CHECK(count == MPI_UNDEFINED);
  flag = 0;
  OK(MPI_Request_get_status_all(0, NULL, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag);
  flag = 0;
  OK(MPI_Request_get_status_any(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
  CHECK(flag && index == MPI_UNDEFINED);
  OK(MPI_Request_free(&r[1]));
}

/* Three receives, which are matched one after the other. */
static void one_after_the_other(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request r[4], before[4];
  MPI_Status s[4];
  int data[3], flag, index, count, indices[4];
  for (int i = 0; i < 3; ++i) OK(MPI_Irecv(&data[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &r[i]));
  r[3] = MPI_REQUEST_NULL;
  memcpy(before, r, sizeof r);
  OK(MPI_Request_get_status_any(4, r, &index, &flag, s));
  CHECK(!flag && index == MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(4, r, &count, indices, s));
  CHECK(count == 0);
  OK(MPI_Request_get_status_all(4, r, &flag, s));
  CHECK(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));

  int value = 100 + rank;
  OK(MPI_Send(&value, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
  do OK(MPI_Request_get_status_any(4, r, &index, &flag, s));
  while (!flag);
  CHECK(index == 1 && s[0].MPI_SOURCE == left && s[0].MPI_TAG == 1);
  OK(MPI_Get_count(&s[0], MPI_INT, &count));
  CHECK(count == 1 && data[1] == 100 + left);
  OK(MPI_Request_get_status_any(4, r, &index, &flag, MPI_STATUS_IGNORE));
  CHECK(flag && index == 1); /* again, as the request is still there */
  OK(MPI_Request_get_status_some(4, r, &count, indices, s));
  CHECK(count == 1 && indices[0] == 1 && s[0].MPI_TAG == 1 && s[0].MPI_ERROR == MPI_SUCCESS);
  OK(MPI_Request_get_status_all(4, r, &flag, s));
  CHECK(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));

  OK(MPI_Send(&value, 1, MPI_INT, right, 2, MPI_COMM_WORLD));
  OK(MPI_Send(&value, 1, MPI_INT, right, 0, MPI_COMM_WORLD));
  do OK(MPI_Request_get_status_all(4, r, &flag, s));
  while (!flag);
  for (int i = 0; i < 3; ++i)
    CHECK(s[i].MPI_SOURCE == left && s[i].MPI_TAG == i && s[i].MPI_ERROR == MPI_SUCCESS);
  check_empty(&s[3]);
  OK(MPI_Request_get_status_all(4, r, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag);
  OK(MPI_Request_get_status_some(4, r, &count, indices, MPI_STATUSES_IGNORE));
  CHECK(count == 3 && indices[0] == 0 && indices[1] == 1 && indices[2] == 2);
  CHECK(!memcmp(before, r, sizeof r));
  OK(MPI_Waitall(4, r, s));
  for (int i = 0; i < 4; ++i) CHECK(r[i] == MPI_REQUEST_NULL);
}

/* A persistent request stays active until a call completes it. */
static void persistent(void) {
  MPI_Request r[2];
  MPI_Status s[2];
  int in = -1, out = rank, flag, index;
  OK(MPI_Recv_init(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[0]));
  OK(MPI_Send_init(&out, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[1]));
  for (int round = 0; round < 3; ++round) {
    out = rank + round;
    OK(MPI_Startall(2, r));
    do OK(MPI_Request_get_status_all(2, r, &flag, s));
    while (!flag);
    CHECK(in == rank + round && s[0].MPI_TAG == 3);
    OK(MPI_Request_get_status_any(2, r, &index, &flag, s));
    CHECK(flag && index == 0);
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    OK(MPI_Request_get_status_any(2, r, &index, &flag, s));
    CHECK(flag && index == MPI_UNDEFINED);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&r[i]));
}

/* The error of a request is in its status, and is returned by the call that completes it. */
static void errors(void) {
  MPI_Comm comm;
  MPI_Request r[2];
  MPI_Status s[2];
  int data[2] = {0}, out[2] = {1, 2}, flag, count, indices[2], class;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Irecv(&data[0], 1, MPI_INT, 0, 0, comm, &r[0]));
  OK(MPI_Irecv(&data[1], 1, MPI_INT, 0, 1, comm, &r[1]));
  OK(MPI_Send(out, 2, MPI_INT, 0, 0, comm)); /* too long */
  OK(MPI_Send(out, 1, MPI_INT, 0, 1, comm));
  do OK(MPI_Request_get_status_all(2, r, &flag, s));
  while (!flag);
  OK(MPI_Error_class(s[0].MPI_ERROR, &class));
  CHECK(class == MPI_ERR_TRUNCATE && s[1].MPI_ERROR == MPI_SUCCESS);
  OK(MPI_Request_get_status_some(2, r, &count, indices, s));
  OK(MPI_Error_class(s[0].MPI_ERROR, &class));
  CHECK(count == 2 && class == MPI_ERR_TRUNCATE && s[1].MPI_ERROR == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, r, s) != MPI_SUCCESS);
  OK(MPI_Error_class(s[0].MPI_ERROR, &class));
  CHECK(class == MPI_ERR_TRUNCATE && s[1].MPI_ERROR == MPI_SUCCESS);
  OK(MPI_Comm_free(&comm));
}

static int query(void* state, MPI_Status* status) {
  OK(MPI_Status_set_elements_c(status, MPI_INT, 7));
  OK(MPI_Status_set_cancelled(status, 0));
  OK(MPI_Status_set_source(status, 11));
  OK(MPI_Status_set_tag(status, 12));
  return *(int*)state;
}
static int do_nothing(void* state) { return MPI_SUCCESS; }
static int cancel(void* state, int complete) { return MPI_SUCCESS; }

/* A generalized request's query function fills the status; its error is the call's. */
static void generalized(void) {
  MPI_Request r;
  MPI_Status s;
  int error = MPI_SUCCESS, flag, index, count, class, source, tag;
  MPI_Errhandler before;
  OK(MPI_Grequest_start(query, do_nothing, cancel, &error, &r));
  OK(MPI_Request_get_status_any(1, &r, &index, &flag, &s));
  CHECK(!flag);
  OK(MPI_Grequest_complete(r));
  OK(MPI_Request_get_status_any(1, &r, &index, &flag, &s));
  CHECK(flag && index == 0);
  OK(MPI_Get_elements(&s, MPI_INT, &count));
  OK(MPI_Status_get_source(&s, &source));
  OK(MPI_Status_get_tag(&s, &tag));
  CHECK(count == 7 && source == 11 && tag == 12);
  error = MPI_ERR_ARG;
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK(MPI_Request_get_status_any(1, &r, &index, &flag, &s) == MPI_ERR_ARG);
  const int all = MPI_Request_get_status_all(1, &r, &flag, &s);
  OK(MPI_Error_class(all, &class));
  CHECK(flag && class == MPI_ERR_IN_STATUS && s.MPI_ERROR == MPI_ERR_ARG);
  error = MPI_SUCCESS;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
  OK(MPI_Errhandler_free(&before));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

/* More requests than the library keeps on its stack. */
static void many(void) {
  enum { kCount = 200 };
  MPI_Request r[kCount];
  MPI_Status s[kCount];
  int data[kCount], flag, count, indices[kCount];
  for (int i = 0; i < kCount; ++i) OK(MPI_Irecv(&data[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]));
  for (int i = kCount - 1; i >= 0; i -= 2) OK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF));
  OK(MPI_Request_get_status_some(kCount, r, &count, indices, s));
  CHECK(count == kCount / 2);
  for (int i = 0; i < count; ++i) CHECK(indices[i] == 2 * i + 1 && s[i].MPI_TAG == 2 * i + 1);
  for (int i = 0; i < kCount; i += 2) OK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF));
  do OK(MPI_Request_get_status_all(kCount, r, &flag, s));
  while (!flag);
  for (int i = 0; i < kCount; ++i) CHECK(data[i] == i && s[i].MPI_TAG == i);
  OK(MPI_Waitall(kCount, r, MPI_STATUSES_IGNORE));
}

static void bad_arguments(void) {
  MPI_Request bad = (MPI_Request)0x12345678;
  MPI_Status s;
  int flag, index, count, class;
  MPI_Errhandler before;
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
#define FAILS(call, wanted)            \
  OK(MPI_Error_class((call), &class)); \
  CHECK(class == wanted)
  FAILS(MPI_Request_get_status_all(1, &bad, &flag, &s), MPI_ERR_REQUEST);
  FAILS(MPI_Request_get_status_any(1, &bad, &index, &flag, &s), MPI_ERR_REQUEST);
  FAILS(MPI_Request_get_status_some(1, &bad, &count, &index, &s), MPI_ERR_REQUEST);
  FAILS(MPI_Request_get_status_all(-1, &bad, &flag, &s), MPI_ERR_COUNT);
  FAILS(MPI_Request_get_status_any(1, NULL, &index, &flag, &s), MPI_ERR_ARG);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
  OK(MPI_Errhandler_free(&before));
}

static void status_fields(void) {
  MPI_Status s;
  int source, tag, error, count, cancelled;
  MPI_Count large;
  memset(&s, 0, sizeof s);
  OK(MPI_Status_set_source(&s, 3));
  OK(MPI_Status_set_tag(&s, 4));
  OK(MPI_Status_set_error(&s, MPI_ERR_OTHER));
  OK(MPI_Status_set_elements_c(&s, MPI_DOUBLE, (MPI_Count)1 << 33));
  OK(MPI_Status_set_cancelled(&s, 1));
  OK(MPI_Status_get_source(&s, &source));
  OK(MPI_Status_get_tag(&s, &tag));
  OK(MPI_Status_get_error(&s, &error));
  OK(MPI_Get_elements_c(&s, MPI_DOUBLE, &large));
  OK(MPI_Get_count(&s, MPI_DOUBLE, &count));
  OK(MPI_Test_cancelled(&s, &cancelled));
  CHECK(source == 3 && tag == 4 && error == MPI_ERR_OTHER && large == (MPI_Count)1 << 33);
  CHECK(count == MPI_UNDEFINED && cancelled && s.MPI_SOURCE == 3);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  status_fields();
  no_active_request();
  one_after_the_other();
  persistent();
  errors();
  generalized();
  many();
  bad_arguments();
  return finish();
}
