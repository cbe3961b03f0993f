/* The eight forms of completion with null, inactive, persistent and complete requests; cancel;
 * get_status. */
#include "mpitest.h"

static int rank, size, next, prev;

static void expect_empty(const MPI_Status* s) {
  int count, cancelled;
  CHECK(s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG);
  OK(MPI_Get_count(s, MPI_INT, &count));
  OK(MPI_Test_cancelled(s, &cancelled));
  CHECK(count == 0 && !cancelled);
}

static void null_and_inactive(void) {
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status s[3];
  int flag = 0, index = 5, out = 5, indices[3], x = 0;
  OK(MPI_Wait(&r[0], &s[0]));
  expect_empty(&s[0]);
  OK(MPI_Test(&r[0], &flag, &s[0]));
  CHECK(flag);
  for (int inactive = 0; inactive < 2; inactive++) {
    if (inactive) OK(MPI_Recv_init(&x, 1, MPI_INT, prev, 9, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Waitall(3, r, s));
    expect_empty(&s[1]);
    OK(MPI_Testall(3, r, &flag, s));
    CHECK(flag);
    OK(MPI_Waitany(3, r, &index, s));
    CHECK(index == MPI_UNDEFINED);
    expect_empty(&s[0]);
    OK(MPI_Testany(3, r, &index, &flag, s));
    CHECK(flag && index == MPI_UNDEFINED);
    OK(MPI_Waitsome(3, r, &out, indices, s));
    CHECK(out == MPI_UNDEFINED);
    OK(MPI_Testsome(3, r, &out, indices, s));
    CHECK(out == MPI_UNDEFINED);
    OK(MPI_Request_get_status(r[1], &flag, s));
    CHECK(flag);
  }
  OK(MPI_Request_free(&r[1]));
  OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
}

enum { kMany = 100 };

/* Everybody sends kMany to the next one; the receiver completes them in the form given. */
static void many(int form) {
  MPI_Request r[kMany], send[kMany];
  MPI_Status s[kMany];
  int in[kMany], outv[kMany], got[kMany] = {0}, total = 0;
  for (int i = 0; i < kMany; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, prev, i, MPI_COMM_WORLD, &r[i]));
  for (int i = 0; i < kMany; i++) {
    outv[i] = rank * 1000 + i;
    OK(MPI_Isend(&outv[i], 1, MPI_INT, next, kMany - 1 - i, MPI_COMM_WORLD, &send[i]));
  }
  while (total < kMany) {
    int flag = 1, index, out = 0, indices[kMany];
    if (form == 0) OK(MPI_Waitany(kMany, r, &index, &s[0]));
    if (form == 1) OK(MPI_Testany(kMany, r, &index, &flag, &s[0]));
    if (form == 2) OK(MPI_Waitsome(kMany, r, &out, indices, s));
    if (form == 3) OK(MPI_Testsome(kMany, r, &out, indices, s));
    if (form == 4) OK(MPI_Waitall(kMany, r, s));
    if (form == 5) OK(MPI_Testall(kMany, r, &flag, s));
    if (form == 6) OK(MPI_Test(&r[total], &flag, &s[0]));
    if (form <= 1) {
      if (flag) {
        out = 1;
        indices[0] = index;
      }
    } else if (form == 4 || form == 5) {
      out = flag ? kMany : 0;
      for (int i = 0; i < out; i++) indices[i] = i;
    } else if (form == 6 && flag) {
      out = 1;
      indices[0] = total;
    }
    for (int i = 0; i < out; i++) {
      CHECK(s[i].MPI_TAG == indices[i] && s[i].MPI_SOURCE == prev);
      CHECK(r[indices[i]] == MPI_REQUEST_NULL);
      got[indices[i]]++;
    }
    total += out;
  }
  for (int i = 0; i < kMany; i++) CHECK(got[i] == 1 && in[i] == prev * 1000 + kMany - 1 - i);
  OK(MPI_Waitall(kMany, send, MPI_STATUSES_IGNORE));
}

static void persistent_startall(void) {
  MPI_Request r[2];
  int in = -1, outv;
  OK(MPI_Recv_init(&in, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Send_init(&outv, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &r[1]));
  for (int i = 0; i < 50; i++) {
    MPI_Status s[2];
    outv = rank + i;
    OK(MPI_Startall(2, r));
    OK(MPI_Waitall(2, r, s));
    CHECK(r[0] != MPI_REQUEST_NULL && in == prev + i && s[0].MPI_SOURCE == prev);
  }
  OK(MPI_Request_free(&r[0]));
  OK(MPI_Request_free(&r[1]));
}

static void cancels(void) {
  MPI_Request r;
  MPI_Status s;
  int x, flag;
  OK(MPI_Irecv(&x, 1, MPI_INT, prev, 77, MPI_COMM_WORLD, &r));
  OK(MPI_Cancel(&r));
  OK(MPI_Wait(&r, &s));
  OK(MPI_Test_cancelled(&s, &flag));
  CHECK(flag);
  OK(MPI_Issend(&x, 1, MPI_INT, next, 78, MPI_COMM_WORLD, &r));
  OK(MPI_Cancel(&r));
  OK(MPI_Wait(&r, &s)); /* comes back: nobody ever receives it */
  OK(MPI_Test_cancelled(&s, &flag));
  CHECK(flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iprobe(prev, 78, MPI_COMM_WORLD, &flag, &s));
  CHECK(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void freed_while_active(void) {
  static int in;
  int outv = rank + 5, token;
  MPI_Request r;
  OK(MPI_Irecv(&in, 1, MPI_INT, prev, 5, MPI_COMM_WORLD, &r));
  OK(MPI_Request_free(&r));
  CHECK(r == MPI_REQUEST_NULL);
  OK(MPI_Isend(&outv, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &r));
  OK(MPI_Request_free(&r));
  OK(MPI_Sendrecv(&outv, 1, MPI_INT, next, 6, &token, 1, MPI_INT, prev, 6, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK(in == prev + 5); /* sent before the token, received before it */
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  prev = (rank + size - 1) % size;
  null_and_inactive();
  for (int form = 0; form <= 6; form++) {
    many(form);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  persistent_startall();
  cancels();
  freed_while_active();
  return finish();
}
