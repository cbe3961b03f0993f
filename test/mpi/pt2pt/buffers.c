/* Buffers of buffered sends (MPI-4.1 section 3.6): those of communicators, sessions and the MPI
 * process; which one a send uses; automatic buffers; flushes; communicators that are freed. */
#include <fgmpi.h>
#include <string.h>

#include "error_class.h"
#include "mpitest.h"

enum { kLong = 300 << 10, kRoom = kLong + MPI_BSEND_OVERHEAD };

static int rank, size, right, left;
static char data[kLong], in[kLong];

/* A message that stays in the buffer until it is received. */
static int put(MPI_Comm comm, int tag) {
  memset(data, 1 + (rank + tag) % 100, sizeof data);
  const int code = MPI_Bsend(data, kLong, MPI_CHAR, right, tag, comm);
  memset(data, 0, sizeof data);
  return code;
}

static void take(MPI_Comm comm, int tag) {
  memset(in, 0, sizeof in);
  OK(MPI_Recv(in, kLong, MPI_CHAR, left, tag, comm, MPI_STATUS_IGNORE));
  for (int i = 0; i < kLong; i += 4097) CHECK(in[i] == 1 + (left + tag) % 100);
}

static MPI_Comm copy_of(MPI_Comm comm) {
  MPI_Comm copy;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  return copy;
}

/* A communicator's buffer is for that communicator; the process's is for all that have none. */
static void which_buffer(void) {
  MPI_Comm one = copy_of(MPI_COMM_WORLD), other = copy_of(MPI_COMM_WORLD);
  char *memory = malloc(kRoom), *more = malloc(2 * kRoom), *got;
  int bytes;
  OK(MPI_Comm_attach_buffer(one, memory, kRoom));
  MPI_Comm child = copy_of(one); /* a buffer is not inherited */
  CHECK(class_of(put(child, 6)) == MPI_ERR_BUFFER);
  CHECK(class_of(put(other, 0)) == MPI_ERR_BUFFER);
  OK(put(one, 1));
  CHECK(class_of(put(one, 2)) == MPI_ERR_BUFFER); /* it is full */
  OK(MPI_Buffer_attach(more, 2 * kRoom));
  CHECK(class_of(put(one, 2)) == MPI_ERR_BUFFER); /* buffers are not combined */
  OK(put(other, 3));
  OK(put(other, 4));
  CHECK(class_of(put(other, 5)) == MPI_ERR_BUFFER);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  take(other, 3);
  take(one, 1);
  OK(MPI_Comm_flush_buffer(one));
  OK(put(one, 2)); /* there is room again */
  take(one, 2);
  take(other, 4);
  OK(MPI_Comm_detach_buffer(one, &got, &bytes));
  CHECK(got == memory && bytes == kRoom);
  OK(put(one, 7)); /* now the process's buffer is used */
  take(one, 7);
  OK(MPI_Buffer_flush());
  OK(MPI_Buffer_detach(&got, &bytes));
  CHECK(got == more && bytes == 2 * kRoom);
  OK(MPI_Comm_free(&one));
  OK(MPI_Comm_free(&other));
  OK(MPI_Comm_free(&child));
  free(memory);
  free(more);
}

/* A flush waits for what is in the buffer when it begins, and for nothing else. */
static void flushes(void) {
  MPI_Comm comm = copy_of(MPI_COMM_WORLD);
  MPI_Request first, second, none, all[2];
  MPI_Status status;
  int done, count, bytes;
  char *memory = malloc(3 * kRoom), *got;
  OK(MPI_Comm_attach_buffer(comm, memory, 3 * kRoom));
  OK(MPI_Comm_iflush_buffer(comm, &none));
  OK(MPI_Wait(&none, &status));
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  OK(MPI_Get_count(&status, MPI_CHAR, &count));
  CHECK(count == 0);
  OK(put(comm, 0));
  OK(put(comm, 1));
  OK(MPI_Comm_iflush_buffer(comm, &first));
  OK(MPI_Comm_iflush_buffer(comm, &all[0]));
  OK(put(comm, 2));
  OK(MPI_Comm_iflush_buffer(comm, &second));
  OK(MPI_Comm_iflush_buffer(comm, &all[1]));
  OK(MPI_Test(&first, &done, MPI_STATUS_IGNORE));
  CHECK(!done);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  take(comm, 1); /* out of order */
  OK(MPI_Test(&first, &done, MPI_STATUS_IGNORE));
  CHECK(!done);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  take(comm, 0);
  OK(MPI_Wait(&first, MPI_STATUS_IGNORE)); /* the third message is still there */
  OK(MPI_Test(&second, &done, MPI_STATUS_IGNORE));
  CHECK(!done);
  OK(MPI_Request_free(&second)); /* a flush may be left alone */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  take(comm, 2);
  OK(MPI_Waitall(2, all, MPI_STATUSES_IGNORE));
  OK(MPI_Comm_flush_buffer(comm));
  OK(MPI_Comm_detach_buffer(comm, &got, &bytes));
  CHECK(got == memory && bytes == 3 * kRoom);
  OK(MPI_Comm_free(&comm));
  free(memory);
}

/* Automatic buffers hold whatever is sent. */
static void automatic(void) {
  enum { kMany = 5 };
  MPI_Comm comm = copy_of(MPI_COMM_WORLD);
  void* got = NULL;
  int bytes = -1;
  MPI_Count large = -1;
  char one;
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, -1)); /* the size has no meaning */
  CHECK(class_of(MPI_Comm_attach_buffer(comm, &one, 1)) == MPI_ERR_BUFFER);
  for (int i = 0; i < kMany; ++i) OK(put(comm, i));
  for (int i = kMany; i-- > 0;) take(comm, i);
  OK(MPI_Comm_flush_buffer(comm));
  OK(MPI_Comm_detach_buffer_c(comm, &got, &large));
  CHECK(got == MPI_BUFFER_AUTOMATIC && large == 0);
  CHECK(class_of(put(comm, 0)) == MPI_ERR_BUFFER);

  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  MPI_Request requests[3];
  OK(MPI_Bsend_init(&rank, 1, MPI_INT, right, 30, comm, &requests[0]));
  memset(data, 1 + (rank + 31) % 100, sizeof data);
  OK(MPI_Ibsend(data, kLong, MPI_CHAR, right, 31, comm, &requests[1]));
  OK(MPI_Start(&requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Buffer_iflush(&requests[2]));
  int from;
  OK(MPI_Recv(&from, 1, MPI_INT, left, 30, comm, MPI_STATUS_IGNORE));
  CHECK(from == left);
  take(comm, 31);
  OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Buffer_detach(&got, &bytes));
  CHECK(got == MPI_BUFFER_AUTOMATIC && bytes == 0);
  OK(MPI_Comm_free(&comm));
}

/* A session's buffer is for the communicators that are made from its groups, and for theirs. */
static void sessions(void) {
  MPI_Session session, other_session;
  MPI_Group group, part;
  MPI_Comm comm, other, copy, split;
  char *memory = malloc(2 * kRoom), *own = malloc(kRoom), *got;
  int bytes;
  MPI_Request request;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other_session));
  OK(MPI_Session_attach_buffer(session, memory, 2 * kRoom));
  CHECK(class_of(MPI_Session_attach_buffer_c(session, own, kRoom)) == MPI_ERR_BUFFER);
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Group_excl(group, 0, NULL, &part));
  OK(MPI_Comm_create_from_group(part, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&part));
  OK(MPI_Group_free(&group));
  OK(MPI_Group_from_session_pset(other_session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "other", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
  OK(MPI_Group_free(&group));
  CHECK(class_of(put(other, 0)) == MPI_ERR_BUFFER);
  copy = copy_of(comm);
  OK(MPI_Comm_split(comm, 0, rank, &split));
  OK(MPI_Comm_group(split, &group));
  MPI_Comm again;
  OK(MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &again));
  OK(MPI_Group_free(&group));
  OK(put(copy, 1));
  OK(put(again, 2));
  CHECK(class_of(put(comm, 3)) == MPI_ERR_BUFFER);
  OK(MPI_Comm_attach_buffer_c(comm, own, kRoom)); /* comes before the session's */
  OK(put(comm, 3));
  OK(MPI_Session_iflush_buffer(session, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  take(comm, 3);
  take(again, 2);
  take(copy, 1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Session_flush_buffer(session));
  OK(MPI_Comm_detach_buffer(comm, &got, &bytes));
  CHECK(got == own && bytes == kRoom);
  OK(MPI_Session_detach_buffer(session, &got, &bytes));
  CHECK(got == memory && bytes == 2 * kRoom);
  CHECK(class_of(put(split, 4)) == MPI_ERR_BUFFER);
  OK(MPI_Buffer_attach(own, kRoom)); /* where neither has a buffer */
  OK(put(split, 4));
  take(split, 4);
  OK(MPI_Buffer_detach(&got, &bytes));
  CHECK(got == own);
  CHECK(class_of(MPI_Session_detach_buffer(session, &got, &bytes)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Session_flush_buffer(session)) == MPI_ERR_BUFFER);
  OK(MPI_Session_attach_buffer(session, memory, kRoom));
  OK(MPI_Comm_disconnect(&comm));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&split));
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&other));
  OK(MPI_Session_finalize(&session));
  OK(MPI_Session_finalize(&other_session));
  free(memory);
  free(own);
}

/* Messages and persistent sends of a communicator go on after it was freed. */
static void freed(char* memory) {
  MPI_Comm comm = copy_of(MPI_COMM_WORLD);
  MPI_Request send, receive;
  int out = rank, got = -1;
  OK(MPI_Comm_attach_buffer(comm, memory, 2 * kRoom));
  OK(MPI_Bsend_init(&out, 1, MPI_INT, right, 5, comm, &send));
  OK(MPI_Recv_init(&got, 1, MPI_INT, left, 5, comm, &receive));
  OK(put(comm, 6));
  MPI_Request late;
  memset(in, 0, sizeof in);
  OK(MPI_Irecv(in, kLong, MPI_CHAR, left, 6, comm, &late));
  OK(MPI_Comm_free(&comm));
  for (int i = 0; i < 3; ++i) {
    out = rank + i;
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(got == left + i);
  }
  OK(MPI_Wait(&late, MPI_STATUS_IGNORE));
  for (int i = 0; i < kLong; i += 4097) CHECK(in[i] == 1 + (left + 6) % 100);
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

/* MPI_Comm_disconnect waits for what is in the communicator's buffer. */
static void disconnected(void) {
  MPI_Comm comm = copy_of(MPI_COMM_WORLD);
  MPI_Request request;
  char* memory = malloc(kRoom);
  memset(in, 0, sizeof in);
  OK(MPI_Comm_attach_buffer(comm, memory, kRoom));
  OK(put(comm, 8));
  OK(MPI_Irecv(in, kLong, MPI_CHAR, left, 8, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_disconnect(&comm));
  memset(memory, 0, kRoom);
  free(memory);
  for (int i = 0; i < kLong; i += 4097) CHECK(in[i] == 1 + (left + 8) % 100);
}

static void errors(void) {
  MPI_Comm comm = copy_of(MPI_COMM_WORLD);
  MPI_Errhandler before;
  MPI_Request request;
  char memory[1000], *got;
  int bytes;
  CHECK(class_of(MPI_Comm_detach_buffer(comm, &got, &bytes)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Comm_flush_buffer(comm)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Comm_iflush_buffer(comm, &request)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Comm_attach_buffer(comm, NULL, 10)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Comm_attach_buffer(comm, memory, -1)) == MPI_ERR_ARG);
  OK(MPI_Comm_attach_buffer(comm, memory, sizeof memory));
  CHECK(class_of(MPI_Comm_attach_buffer(comm, memory, 10)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0)) == MPI_ERR_BUFFER);
  OK(MPI_Comm_detach_buffer(comm, &got, &bytes));
  CHECK(got == memory && bytes == sizeof memory);
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK(class_of(MPI_Buffer_flush()) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Buffer_iflush(&request)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Comm_flush_buffer(MPI_COMM_NULL)) == MPI_ERR_COMM);
  CHECK(class_of(MPI_Session_flush_buffer(MPI_SESSION_NULL)) == MPI_ERR_SESSION);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
  OK(MPI_Errhandler_free(&before));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  char *after_free = malloc(2 * kRoom), *at_end = malloc(kRoom);
  which_buffer();
  flushes();
  automatic();
  sessions();
  freed(after_free);
  disconnected();
  errors();
  /* MPI_Finalize sends what is in the buffer of MPI_COMM_WORLD. */
  if (rank == 0) printf(" No Errors\n");
  OK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, at_end, kRoom));
  if (size > 1 && rank == 0) OK(put(MPI_COMM_WORLD, 9));
  if (size > 1 && rank == 1) {
    OK(MPIX_Usleep(20000));
    take(MPI_COMM_WORLD, 9);
  }
  OK(MPI_Finalize());
  memset(at_end, 0, kRoom);
  free(at_end);
  free(after_free);
  return 0;
}
