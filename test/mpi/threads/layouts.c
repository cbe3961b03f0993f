/* Sends of every layout while several threads may call MPI, so that no communicator is found before
 * a call has entered the library: messages of one row, short and long ones with gaps, in each mode,
 * to a posted receive and before there is one; and arguments that are errors. */
#include <string.h>

#include "error_class.h"
#include "threads.h"

enum { kTypes = 6, kMost = 1 << 17, kModes = 4 };

static int rank, size;
static MPI_Datatype types[kTypes];

static void make_types(void) {
  const int lengths[] = {1, 3, 2}, places[] = {9, 0, 5};
  OK(MPI_Type_contiguous(5, MPI_INT, &types[0]));
  OK(MPI_Type_vector(4, 1, 3, MPI_INT, &types[1]));
  OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &types[2]));
  OK(MPI_Type_vector(100, 2, 5, MPI_INT, &types[3]));
  OK(MPI_Type_vector(40000, 1, 3, MPI_INT, &types[4]));
  OK(MPI_Type_contiguous(1, MPI_INT, &types[5]));
  for (int i = 0; i < kTypes; i++) OK(MPI_Type_commit(&types[i]));
}

static int send(const int* data, MPI_Datatype type, int to, int tag, int mode, MPI_Request* r) {
  *r = MPI_REQUEST_NULL;
  if (mode == 0) return MPI_Send(data, 1, type, to, tag, MPI_COMM_WORLD);
  if (mode == 1) return MPI_Ssend(data, 1, type, to, tag, MPI_COMM_WORLD);
  if (mode == 2) return MPI_Isend(data, 1, type, to, tag, MPI_COMM_WORLD, r);
  return MPI_Issend(data, 1, type, to, tag, MPI_COMM_WORLD, r);
}

/* Compares what has come with what was packed; both are rows. */
static void check_row(const int* data, MPI_Datatype type, int from) {
  int bytes, at = 0;
  OK(MPI_Type_size(type, &bytes));
  int* row = malloc((size_t)bytes);
  int* expected = malloc(kMost * sizeof(int));
  for (int i = 0; i < kMost; i++) expected[i] = i * 8 + from;
  OK(MPI_Pack(expected, 1, type, row, bytes, &at, MPI_COMM_WORLD));
  CHECK(memcmp(data, row, (size_t)bytes) == 0);
  free(row);
  free(expected);
}

/* A ring: the receive is posted before the send where `posted`. */
static void layouts(int thread) {
  int* out = malloc(kMost * sizeof(int));
  int* in = malloc(kMost * sizeof(int));
  for (int i = 0; i < kMost; i++) out[i] = i * 8 + rank % 8;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < kTypes; i++)
    for (int mode = 0; mode < kModes; mode++)
      for (int posted = 0; posted < 2; posted++) {
        const int waits = mode % 2 == 1 || i == 4; /* such a send needs its receive */
        if (!posted && mode < 2 && waits) continue;
        int bytes;
        MPI_Request sent, received;
        OK(MPI_Type_size(types[i], &bytes));
        if (posted) OK(MPI_Irecv(in, bytes, MPI_BYTE, left, thread, MPI_COMM_WORLD, &received));
        OK(send(out, types[i], right, thread, mode, &sent));
        if (!posted) OK(MPI_Irecv(in, bytes, MPI_BYTE, left, thread, MPI_COMM_WORLD, &received));
        OK(MPI_Wait(&received, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
        check_row(in, types[i], left % 8);
      }
  free(out);
  free(in);
}

/* What every mode says to arguments that are wrong, with a row and with gaps. */
static void errors(int thread) {
  MPI_Request r;
  MPI_Datatype open;
  int data[64] = {thread};
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &open)); /* not committed */
  for (int i = 0; i < 3; i++)
    for (int mode = 0; mode < kModes; mode++) {
      CHECK(class_of(send(data, types[i], size, 1, mode, &r)) == MPI_ERR_RANK);
      CHECK(class_of(send(data, types[i], 0, -1, mode, &r)) == MPI_ERR_TAG);
      CHECK(class_of(send(data, open, 0, 1, mode, &r)) == MPI_ERR_TYPE);
      OK(send(data, types[i], MPI_PROC_NULL, 1, mode, &r));
      OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
  CHECK(class_of(MPI_Isend(data, 1, types[1], 0, 1, MPI_COMM_WORLD, NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Send(data, 1, types[1], 0, 1, MPI_COMM_NULL)) == MPI_ERR_COMM);
  CHECK(class_of(MPI_Isend(data, 1, types[1], 0, 1, MPI_COMM_NULL, &r)) == MPI_ERR_COMM);
  OK(MPI_Type_free(&open));
}

int main(int argc, char** argv) {
  init_threads(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  make_types();
  run_threads(1, layouts);
  run_threads(2, layouts);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  run_threads(2, errors);
  for (int i = 0; i < kTypes; i++) OK(MPI_Type_free(&types[i]));
  return finish();
}
