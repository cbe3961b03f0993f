/* Every error of an argument comes back as its class; a truncated message loses nothing else. */
#include <string.h>

#include "mpitest.h"

static int class_of(int code) {
  int c = -1, n = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_class(code, &c);
  MPI_Error_string(code, text, &n);
  if (c != MPI_SUCCESS) CHECK(n > 10 && strstr(text, "MPI_"));
  return c;
}

#define FAILS(error, call)                                                             \
  do {                                                                                 \
    int got_ = class_of(call);                                                         \
    if (got_ != (error))                                                               \
      fprintf(stderr, "%s:%d: class %d, not %d\n", __FILE__, __LINE__, got_, (error)); \
    CHECK(got_ == (error));                                                            \
  } while (0)

/* A message that ends within a basic element of a scattered type: three bytes for integers. Whole
 * elements of the beginning of the type are allowed. Sent as a run of bytes and scattered, from the
 * next rank. */
static void ends_within_an_element(int rank, int size) {
  int blocks[3] = {1, 2, 1}, places[3] = {0, 2, 5}, got[8], n;
  char bytes[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Datatype integers, spread;
  MPI_Request r;
  MPI_Status s;
  OK(MPI_Type_indexed(3, blocks, places, MPI_INT, &integers));
  OK(MPI_Type_commit(&integers));
  OK(MPI_Type_vector(12, 1, 2, MPI_CHAR, &spread));
  OK(MPI_Type_commit(&spread));
  for (int count = 0; count <= 16; ++count) {
    OK(MPI_Isend(bytes, count, MPI_BYTE, to, 30, MPI_COMM_WORLD, &r));
    FAILS(count % 4 ? MPI_ERR_TYPE : MPI_SUCCESS,
          MPI_Recv(got, 1, integers, from, 30, MPI_COMM_WORLD, &s));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Get_elements(&s, integers, &n));
    CHECK(n == count / 4);
  }
  OK(MPI_Isend(bytes, 1, spread, to, 31, MPI_COMM_WORLD, &r));
  FAILS(MPI_SUCCESS, MPI_Recv(got, 1, integers, from, 31, MPI_COMM_WORLD, &s));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&spread));
  OK(MPI_Type_vector(3, 1, 2, MPI_CHAR, &spread));
  OK(MPI_Type_commit(&spread));
  OK(MPI_Isend(bytes, 1, spread, to, 32, MPI_COMM_WORLD, &r));
  FAILS(MPI_ERR_TYPE, MPI_Recv(got, 1, integers, from, 32, MPI_COMM_WORLD, &s));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&spread));
  OK(MPI_Type_free(&integers));
}

int main(int argc, char** argv) {
  int rank, size, b[100], flag, n;
  MPI_Request r = MPI_REQUEST_NULL, none = MPI_REQUEST_NULL, bad = (MPI_Request)0x12345678;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status s;
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &size);
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

  FAILS(MPI_ERR_COMM, MPI_Send(b, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  FAILS(MPI_ERR_COMM, MPI_Recv(b, 1, MPI_INT, 0, 0, (MPI_Comm)12345, &s));
  FAILS(MPI_ERR_COUNT, MPI_Send(b, -1, MPI_INT, 0, 0, w));
  FAILS(MPI_ERR_COUNT, MPI_Irecv(b, -1, MPI_INT, 0, 0, w, &r));
  FAILS(MPI_ERR_TYPE, MPI_Send(b, 1, MPI_DATATYPE_NULL, 0, 0, w));
  FAILS(MPI_ERR_TYPE, MPI_Recv(b, 1, MPI_DATATYPE_NULL, 0, 0, w, &s));
  FAILS(MPI_ERR_RANK, MPI_Send(b, 1, MPI_INT, size, 0, w));
  FAILS(MPI_ERR_RANK, MPI_Isend(b, 1, MPI_INT, -5, 0, w, &r));
  FAILS(MPI_ERR_RANK, MPI_Send(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, w));
  FAILS(MPI_ERR_RANK, MPI_Recv(b, 1, MPI_INT, size, 0, w, &s));
  FAILS(MPI_ERR_RANK, MPI_Probe(-7, 0, w, &s));
  FAILS(MPI_ERR_TAG, MPI_Send(b, 1, MPI_INT, 0, -3, w));
  FAILS(MPI_ERR_TAG, MPI_Send(b, 1, MPI_INT, 0, MPI_ANY_TAG, w));
  FAILS(MPI_ERR_TAG, MPI_Recv(b, 1, MPI_INT, 0, -9, w, &s));
  FAILS(MPI_ERR_TAG, MPI_Iprobe(0, -9, w, &flag, &s));
  FAILS(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, w));
  FAILS(MPI_ERR_BUFFER, MPI_Recv(NULL, 1, MPI_INT, 0, 0, w, &s));
  FAILS(MPI_ERR_BUFFER, MPI_Bsend(b, 1, MPI_INT, 0, 0, w));
  FAILS(MPI_ERR_ARG, MPI_Buffer_attach(b, -1));
  FAILS(MPI_ERR_REQUEST, MPI_Wait(&bad, &s));
  FAILS(MPI_ERR_REQUEST, MPI_Test(&bad, &flag, &s));
  FAILS(MPI_ERR_REQUEST, MPI_Waitall(1, &bad, &s));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&none));
  FAILS(MPI_ERR_REQUEST, MPI_Cancel(&none));
  FAILS(MPI_ERR_REQUEST, MPI_Request_free(&none));
  FAILS(MPI_ERR_REQUEST, MPI_Mrecv(b, 1, MPI_INT, &message, &s));
  FAILS(MPI_ERR_COUNT, MPI_Waitall(-1, &bad, &s));
  FAILS(MPI_ERR_ARG, MPI_Isend(b, 1, MPI_INT, 0, 0, w, NULL));
  FAILS(MPI_ERR_ARG, MPI_Psend_init(b, -1, 1, MPI_INT, 0, 0, w, MPI_INFO_NULL, &r));
  FAILS(MPI_ERR_RANK, MPI_Sendrecv(b, 1, MPI_INT, size, 0, b + 1, 1, MPI_INT, 0, 0, w, &s));
  FAILS(MPI_ERR_TAG, MPI_Sendrecv_replace(b, 1, MPI_INT, 0, -1, 0, 0, w, &s));

  ends_within_an_element(rank, size);

  /* Not active, active, not partitioned, no such partition. */
  OK(MPI_Recv_init(b, 1, MPI_INT, rank, 1, w, &r));
  FAILS(MPI_ERR_REQUEST, MPI_Cancel(&r));
  OK(MPI_Start(&r));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&r));
  FAILS(MPI_ERR_REQUEST, MPI_Pready(0, r));
  FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(r));
  OK(MPI_Send(b, 1, MPI_INT, rank, 1, w));
  OK(MPI_Wait(&r, &s));
  OK(MPI_Request_free(&r));
  OK(MPI_Psend_init(b, 2, 1, MPI_INT, rank, 2, w, MPI_INFO_NULL, &r));
  FAILS(MPI_ERR_REQUEST, MPI_Pready(0, r));
  OK(MPI_Start(&r));
  FAILS(MPI_ERR_OTHER, MPI_Pready(2, r));
  FAILS(MPI_ERR_OTHER, MPI_Pready_range(0, 2, r)); /* marks none */
  OK(MPI_Pready(0, r));
  FAILS(MPI_ERR_ARG, MPI_Pready(0, r));
  OK(MPI_Pready(1, r));
  MPI_Request p;
  OK(MPI_Precv_init(b + 10, 2, 1, MPI_INT, rank, 2, w, MPI_INFO_NULL, &p));
  OK(MPI_Start(&p));
  OK(MPI_Wait(&p, &s));
  OK(MPI_Wait(&r, &s));
  OK(MPI_Request_free(&r));
  OK(MPI_Request_free(&p));

  /* Truncation: the class, what fits, and the next message unharmed. */
  int next = (rank + 1) % size, prev = (rank + size - 1) % size, values[4] = {1, 2, 3, 4};
  MPI_Request out[3], in[3];
  MPI_Status st[3];
  for (int i = 0; i < 3; i++) OK(MPI_Isend(values, 4, MPI_INT, next, i, w, &out[i]));
  memset(b, 0, sizeof b);
  for (int i = 0; i < 3; i++)
    OK(MPI_Irecv(b + 10 * i, i == 1 ? 2 : 4, MPI_INT, prev, i, w, &in[i]));
  for (int i = 0; i < 3; i++) st[i].MPI_ERROR = 777;
  FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(3, in, st));
  CHECK(st[0].MPI_ERROR == MPI_SUCCESS && st[2].MPI_ERROR == MPI_SUCCESS);
  CHECK(class_of(st[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
  CHECK(b[3] == 4 && b[11] == 2 && b[12] == 0 && b[23] == 4);
  OK(MPI_Waitall(3, out, MPI_STATUSES_IGNORE));
  OK(MPI_Isend(values, 4, MPI_INT, next, 5, w, &out[0]));
  FAILS(MPI_ERR_TRUNCATE, MPI_Recv(b, 1, MPI_INT, prev, 5, w, &s));
  OK(MPI_Get_count(&s, MPI_INT, &n));
  CHECK(n == 1 && b[0] == 1);
  OK(MPI_Wait(&out[0], MPI_STATUS_IGNORE));
  return finish();
}
