/* Sends, receives and waits at the same places again and again, in all mixtures that loops of
 * programs have. Under -check (test/ check/programs.py) none has a finding: a call that is like the
 * last one is looked at in another way than the first. */
#include "../mpitest.h"

enum { kTurns = 6, kMost = 8 };
static int rank, size, next, before, turn;
static int in[kMost][4], out[kMost][4];

static void fill(void) {
  for (int i = 0; i < kMost; ++i)
    for (int k = 0; k < 4; ++k) in[i][k] = 1000 * rank + 100 * turn + 10 * i + k, out[i][k] = -1;
}
static void expect(int slot, int from, int sent) {
  for (int k = 0; k < 4; ++k) CHECK(out[slot][k] == 1000 * from + 100 * turn + 10 * sent + k);
}
static void post(int slot, int from, int tag, MPI_Request* request) {
  OK(MPI_Irecv(out[slot], 4, MPI_INT, from, tag, MPI_COMM_WORLD, request));
}
static void give(int slot, int to, int tag, MPI_Request* request) {
  OK(MPI_Isend(in[slot], 4, MPI_INT, to, tag, MPI_COMM_WORLD, request));
}

static void all_at_once(void) {
  MPI_Request r[4];
  post(0, before, 1, &r[0]);
  post(1, next, 2, &r[1]);
  give(0, next, 1, &r[2]);
  give(1, before, 2, &r[3]);
  OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
  expect(0, before, 0);
  expect(1, next, 1);
}

static void one_by_one_in_reverse(void) {
  MPI_Request r[4];
  MPI_Status status;
  post(0, before, 1, &r[0]);
  post(1, before, 1, &r[1]);
  give(0, next, 1, &r[2]);
  give(1, next, 1, &r[3]);
  for (int i = 3; i >= 0; --i) OK(MPI_Wait(&r[i], &status));
  CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 1);
  expect(0, before, 0);
  expect(1, before, 1);
}

static void in_parts(void) {
  MPI_Request r[6], other[6];
  MPI_Status statuses[3];
  for (int i = 0; i < 3; ++i) post(i, before, i, &r[i]), give(i, next, i, &r[3 + i]);
  for (int i = 0; i < 6; ++i) other[i] = r[5 - i];
  OK(MPI_Waitall(2, other, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(1, other + 2, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(3, other + 3, statuses));
  for (int i = 0; i < 3; ++i) {
    CHECK(statuses[i].MPI_TAG == 2 - i);
    expect(i, before, i);
  }
}

static void behind_a_receive(void) {
  MPI_Request r;
  post(0, before, 1, &r);
  if (rank % 2 || size == 1) {
    MPI_Request s[2];
    give(0, next, 1, &s[0]);
    give(1, next, 1, &s[1]);
    OK(MPI_Recv(out[1], 4, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(2, s, MPI_STATUSES_IGNORE));
  } else {
    MPI_Request s;
    give(0, next, 1, &s);
    OK(MPI_Sendrecv(in[1], 4, MPI_INT, next, 1, out[1], 4, MPI_INT, before, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
  }
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  expect(0, before, 0);
  expect(1, before, 1);
}

static void beside_other_calls(void) {
  MPI_Request r, s;
  int flag = 0, sum = 0;
  post(0, before, 1, &r);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  give(0, next, 1, &s);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  while (!flag) OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
  CHECK(sum == size * (size - 1) / 2);
  expect(0, before, 0);
}

static void some_and_any(void) {
  MPI_Request r[4];
  int index, count, indices[4];
  for (int i = 0; i < 2; ++i) post(i, before, i, &r[i]), give(i, next, i, &r[2 + i]);
  OK(MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE));
  OK(MPI_Waitsome(4, r, &count, indices, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) expect(i, before, i);
}

static void taken_back(void) {
  MPI_Request r[2];
  MPI_Status status;
  int cancelled = 0;
  post(0, before, 5, &r[0]);
  post(1, before, 1, &r[1]);
  OK(MPI_Cancel(&r[0]));
  OK(MPI_Wait(&r[0], &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled);
  OK(MPI_Send(in[1], 4, MPI_INT, next, 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
  expect(1, before, 1);
}

static void at_a_border(void) {
  MPI_Request r[4];
  const int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank ? rank - 1 : MPI_PROC_NULL;
  post(0, down, 1, &r[0]);
  post(1, up, 2, &r[1]);
  give(0, up, 1, &r[2]);
  give(1, down, 2, &r[3]);
  OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
  if (rank) expect(0, rank - 1, 0);
  if (rank + 1 < size) expect(1, rank + 1, 1);
}

static void of_objects_made_anew(void) {
  MPI_Request r[2];
  MPI_Comm comm;
  MPI_Datatype type;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_contiguous(2 + 2 * (turn % 2), MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Irecv(out[0], 2, type, before, 1, comm, &r[0]));
  OK(MPI_Isend(in[0], 1, type, next, 1, comm, &r[1]));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&comm));
  CHECK(out[0][1] == 1000 * before + 100 * turn + 1 &&
        out[0][3] == (turn % 2 ? out[0][2] + 1 : -1));
}

static void of_any_source(void) {
  MPI_Request r, s;
  give(0, next, 1, &s);
  OK(MPI_Irecv(out[0], 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
  expect(0, before, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void of_nothing(void) {
  MPI_Request r[2];
  OK(MPI_Irecv(out, 0, MPI_INT, before, 1, MPI_COMM_WORLD, &r[0]));
  OK(MPI_Isend(in, 0, MPI_INT, next, 1, MPI_COMM_WORLD, &r[1]));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
}

static void freed_before_it_ends(void) {
  MPI_Request r;
  give(0, next, 1, &r);
  OK(MPI_Request_free(&r));
  OK(MPI_Recv(out[0], 4, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect(0, before, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void to_and_fro(void) {
  const int other = rank ^ 1;
  if (other >= size) return;
  for (int i = 0; i < 2; ++i)
    if ((rank & 1) == i)
      OK(MPI_Send(in[i], 4, MPI_INT, other, 1, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(out[i], 4, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect(1 - rank % 2, other, 1 - rank % 2);
}

int main(int argc, char** argv) {
  static void (*const kLoops[])(void) = {
      all_at_once,  one_by_one_in_reverse, in_parts,         behind_a_receive,
      some_and_any, beside_other_calls,    taken_back,       at_a_border,
      of_nothing,   of_objects_made_anew,  to_and_fro,       freed_before_it_ends,
      all_at_once,  of_any_source,         behind_a_receive, to_and_fro};
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  for (size_t i = 0; i < sizeof kLoops / sizeof *kLoops; ++i)
    for (turn = 0; turn < kTurns; ++turn) {
      fill();
      kLoops[i]();
    }
  return finish();
}
