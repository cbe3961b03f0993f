/* Every mode, blocking, nonblocking and persistent, plain and large-count, from everybody to its
 * neighbour. */
#include <string.h>

#include "mpitest.h"

static int rank, size;

static void fill(char* b, int n, int seed) {
  for (int i = 0; i < n; i++) b[i] = (char)(seed * 13 + i * 7 + (i >> 9));
}
static void expect(const char* b, int n, int seed) {
  for (int i = 0; i < n; i++) CHECK(b[i] == (char)(seed * 13 + i * 7 + (i >> 9)));
}

enum { kForms = 20 };

/* Sends by form number; a request when it is nonblocking or persistent. */
static MPI_Request send_by(int form, const char* b, int n, int to, int tag) {
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Comm w = MPI_COMM_WORLD;
  switch (form) {
    case 0:
      OK(MPI_Isend(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 1:
      OK(MPI_Issend(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 2:
      OK(MPI_Irsend(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 3:
      OK(MPI_Ibsend(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 4:
      OK(MPI_Bsend(b, n, MPI_CHAR, to, tag, w));
      break;
    case 5:
      OK(MPI_Isend_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 6:
      OK(MPI_Issend_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 7:
      OK(MPI_Irsend_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 8:
      OK(MPI_Ibsend_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 9:
      OK(MPI_Bsend_c(b, n, MPI_CHAR, to, tag, w));
      break;
    case 10:
      OK(MPI_Send_init(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 11:
      OK(MPI_Ssend_init(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 12:
      OK(MPI_Rsend_init(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 13:
      OK(MPI_Bsend_init(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 14:
      OK(MPI_Send_init_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 15:
      OK(MPI_Ssend_init_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 16:
      OK(MPI_Rsend_init_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 17:
      OK(MPI_Bsend_init_c(b, n, MPI_CHAR, to, tag, w, &r));
      break;
    case 18:
      OK(MPI_Send(b, n, MPI_CHAR, to, tag, w));
      break;
    default:
      OK(MPI_Send_c(b, n, MPI_CHAR, to, tag, w));
      break;
  }
  if (form >= 10 && form <= 17) OK(MPI_Start(&r));
  return r;
}

static void ring(int n) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  char *out = malloc(n + 1), *in = malloc(n + 1);
  for (int form = 0; form < kForms; form++) {
    MPI_Request recv, send;
    MPI_Status status;
    int count;
    fill(out, n, rank + form);
    memset(in, 0, n);
    if (form % 2)
      OK(MPI_Irecv(in, n + 1, MPI_CHAR, from, form, MPI_COMM_WORLD, &recv));
    else
      OK(MPI_Irecv_c(in, n + 1, MPI_CHAR, MPI_ANY_SOURCE, form, MPI_COMM_WORLD, &recv));
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* ready mode needs the receives posted */
    send = send_by(form, out, n, to, form);
    OK(MPI_Wait(&recv, &status));
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == form);
    OK(MPI_Get_count(&status, MPI_CHAR, &count));
    CHECK(count == n);
    expect(in, n, from + form);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    if (form >= 10 && form <= 17) OK(MPI_Request_free(&send));
    CHECK(send == MPI_REQUEST_NULL);
  }
  free(out);
  free(in);
}

static void blocking_pairs(int n) {
  int partner = rank ^ 1;
  char* b = malloc(n + 1);
  if (partner < size) {
    for (int mode = 0; mode < 3; mode++) {
      for (int round = 0; round < 2; round++) {
        if ((rank + round) % 2) {
          fill(b, n, rank + mode);
          if (mode == 0) OK(MPI_Send(b, n, MPI_CHAR, partner, mode, MPI_COMM_WORLD));
          if (mode == 1) OK(MPI_Ssend(b, n, MPI_CHAR, partner, mode, MPI_COMM_WORLD));
          if (mode == 2) OK(MPI_Ssend_c(b, n, MPI_CHAR, partner, mode, MPI_COMM_WORLD));
        } else {
          OK(MPI_Recv(b, n, MPI_CHAR, partner, mode, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          expect(b, n, partner + mode);
        }
      }
    }
  }
  free(b);
}

static void to_nobody(void) {
  char b[4];
  MPI_Status s;
  MPI_Request r;
  OK(MPI_Send(b, 4, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Ssend(b, 4, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Recv(b, 4, MPI_CHAR, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &s));
  CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
  OK(MPI_Irecv(b, 4, MPI_CHAR, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &s));
  CHECK(s.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Send_init(b, 4, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r));
  for (int i = 0; i < 3; i++) {
    OK(MPI_Start(&r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&r));
}

static void exchanges(int n) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  char *out = malloc(n + 1), *in = malloc(n + 1);
  MPI_Status s;
  MPI_Request r;
  fill(out, n, rank);
  OK(MPI_Sendrecv(out, n, MPI_CHAR, to, 3, in, n, MPI_CHAR, from, 3, MPI_COMM_WORLD, &s));
  expect(in, n, from);
  OK(MPI_Isendrecv(out, n, MPI_CHAR, to, 4, in, n, MPI_CHAR, from, 4, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &s));
  CHECK(s.MPI_SOURCE == from && s.MPI_TAG == 4);
  OK(MPI_Sendrecv_replace(out, n, MPI_CHAR, to, 5, from, 5, MPI_COMM_WORLD, &s));
  expect(out, n, from);
  fill(out, n, rank);
  OK(MPI_Isendrecv_replace_c(out, n, MPI_CHAR, to, 6, from, 6, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, &s));
  expect(out, n, from);
  OK(MPI_Sendrecv(out, n, MPI_CHAR, MPI_PROC_NULL, 3, in, n, MPI_CHAR, MPI_PROC_NULL, 3,
                  MPI_COMM_WORLD, &s));
  CHECK(s.MPI_SOURCE == MPI_PROC_NULL);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  static const int sizes[] = {0, 1, 8, 17, 1000, 5000, 70000, 400000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int room = 2 * (400000 + MPI_BSEND_OVERHEAD), detached;
  void* buffer = malloc(room);
  OK(MPI_Buffer_attach(buffer, room));
  int count = size > 32 ? 6 : 8;
  for (int i = 0; i < count; i++) {
    ring(sizes[i]);
    blocking_pairs(sizes[i]);
    exchanges(sizes[i]);
  }
  to_nobody();
  OK(MPI_Buffer_detach(&buffer, &detached));
  CHECK(detached == room);
  free(buffer);
  return finish();
}
