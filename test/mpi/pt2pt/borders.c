/* Messages as long as what is sent in another way from there on, one byte less and one more: frames
 * of the transports, what is lent, what goes eagerly. Contiguous and scattered; expected, late,
 * probed, cut off, synchronous, cancelled. */
#include <string.h>

#include "mpitest.h"

static const int borders[] = {8192, 16384, 65536, 100000, 262144};
enum { kBorders = sizeof borders / sizeof borders[0], kMost = 262145, kTag = 5 };
static int rank, size, next, prev;
static unsigned char *out, *in;
static MPI_Datatype every_other;

static unsigned char value(int who, int n, int i) {
  return (unsigned char)(who * 37 + n + i * 11 + (i >> 8) * 3);
}

/* The message of n bytes, scattered or not. */
static void make(int n, int scattered) {
  memset(out, 0, 2 * kMost);
  for (int i = 0; i < n; i++) out[scattered ? 2 * i : i] = value(rank, n, i);
}

/* `got` bytes of it have come, and nothing beside them was touched. */
static int good(int n, int got, int scattered) {
  int step = scattered ? 2 : 1;
  for (int i = 0; i < got; i++)
    if (in[i * step] != value(prev, n, i)) return 0;
  for (int i = 0; scattered && i < got; i++)
    if (in[2 * i + 1] != 0xee) return 0;
  for (int i = got * step; i < 2 * kMost; i++)
    if (in[i] != 0xee) return 0;
  return 1;
}

static void clear(void) { memset(in, 0xee, 2 * kMost); }

static MPI_Request start(int n, int scattered, int synchronous) {
  MPI_Request r;
  MPI_Datatype t = scattered ? every_other : MPI_BYTE;
  make(n, scattered);
  if (synchronous)
    OK(MPI_Issend(out, n, t, next, kTag, MPI_COMM_WORLD, &r));
  else
    OK(MPI_Isend(out, n, t, next, kTag, MPI_COMM_WORLD, &r));
  return r;
}

/* Both sides in each layout; the receive is there before the message, or after it, or takes what a
 * probe has found. */
static void one_size(int n) {
  for (int form = 0; form < 4; form++) {
    for (int synchronous = 0; synchronous < 2; synchronous++) {
      for (int late = 0; late < (synchronous ? 2 : 4); late++) {
        int scatter_out = form & 1, scatter_in = form >> 1, count;
        MPI_Datatype t = scatter_in ? every_other : MPI_BYTE;
        MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Message m;
        MPI_Status s;
        clear();
        if (late == 0) OK(MPI_Irecv(in, n, t, prev, kTag, MPI_COMM_WORLD, &r[1]));
        MPI_Barrier(MPI_COMM_WORLD);
        r[0] = start(n, scatter_out, synchronous);
        if (late == 1) MPI_Barrier(MPI_COMM_WORLD); /* the first frame, at least, is there */
        if (late == 2) {
          OK(MPI_Probe(prev, kTag, MPI_COMM_WORLD, &s));
          OK(MPI_Get_count(&s, MPI_BYTE, &count));
          CHECK(count == n);
        }
        if (late == 3) {
          OK(MPI_Mprobe(prev, kTag, MPI_COMM_WORLD, &m, &s));
          OK(MPI_Get_count(&s, MPI_BYTE, &count));
          CHECK(count == n);
          OK(MPI_Imrecv(in, n, t, &m, &r[1]));
        } else if (late) {
          OK(MPI_Irecv(in, n, t, prev, kTag, MPI_COMM_WORLD, &r[1]));
        }
        OK(MPI_Wait(&r[1], &s));
        OK(MPI_Get_count(&s, t, &count));
        CHECK(count == n && s.MPI_SOURCE == prev && s.MPI_TAG == kTag);
        CHECK(good(n, n, scatter_in));
        OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
      }
    }
  }
}

/* Into receives that are too small, early and late; the next message is not touched by it. */
static void cut_off(int n) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int form = 0; form < 2; form++) {
    for (int late = 0; late < 2; late++) {
      int room = late ? n - 1 : n / 2 + 1, class = 0, small = 7, token = 0;
      MPI_Datatype t = form ? every_other : MPI_BYTE;
      MPI_Request r[2];
      clear();
      if (!late) OK(MPI_Irecv(in, room, t, prev, kTag, MPI_COMM_WORLD, &r[1]));
      MPI_Barrier(MPI_COMM_WORLD);
      r[0] = start(n, 0, 0);
      OK(MPI_Send(&small, 1, MPI_INT, next, 6, MPI_COMM_WORLD));
      OK(MPI_Recv(&token, 1, MPI_INT, prev, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(token == 7);
      if (late) OK(MPI_Irecv(in, room, t, prev, kTag, MPI_COMM_WORLD, &r[1]));
      int error = MPI_Wait(&r[1], MPI_STATUS_IGNORE);
      MPI_Error_class(error, &class);
      CHECK(class == MPI_ERR_TRUNCATE);
      CHECK(good(n, room, form));
      OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    }
  }
}

/* A synchronous send that is never received is dropped at the end; later messages arrive. */
static void cancelled(int n) {
  MPI_Status s;
  int gone, found;
  clear();
  MPI_Request r = start(n, 0, 1);
  OK(MPI_Cancel(&r));
  OK(MPI_Wait(&r, &s));
  OK(MPI_Test_cancelled(&s, &gone));
  CHECK(gone);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_Iprobe(prev, kTag, MPI_COMM_WORLD, &found, &s));
  CHECK(!found);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Many at a time, the buffers written again as soon as they may be. */
static void many(int n) {
  enum { kAtATime = 4, kRounds = 2 };
  static unsigned char* buffers[2 * kAtATime];
  MPI_Request r[2 * kAtATime];
  for (int i = 0; i < 2 * kAtATime; i++) buffers[i] = malloc(n);
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < kAtATime; i++) {
      for (int k = 0; k < n; k++) buffers[i][k] = value(rank, n + i + round, k);
      OK(MPI_Isend(buffers[i], n, MPI_BYTE, next, i, MPI_COMM_WORLD, &r[i]));
    }
    for (int i = 0; i < kAtATime; i++)
      OK(MPI_Irecv(buffers[kAtATime + i], n, MPI_BYTE, prev, i, MPI_COMM_WORLD, &r[kAtATime + i]));
    for (int left = 2 * kAtATime; left > 0; left--) {
      int which;
      OK(MPI_Waitany(2 * kAtATime, r, &which, MPI_STATUS_IGNORE));
      if (which < kAtATime) {
        memset(buffers[which], 0xdd, n);
        continue;
      }
      int wrong = 0;
      for (int k = 0; k < n; k++)
        wrong += buffers[which][k] != value(prev, n + which - kAtATime + round, k);
      CHECK(wrong == 0);
    }
  }
  for (int i = 0; i < 2 * kAtATime; i++) free(buffers[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  prev = (rank + size - 1) % size;
  out = malloc(2 * kMost);
  in = malloc(2 * kMost);
  MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
  MPI_Type_commit(&every_other);
  for (int b = 0; b < kBorders; b++) {
    for (int n = borders[b] - 1; n <= borders[b] + 1; n++) {
      one_size(n);
      cut_off(n);
      cancelled(n);
      many(n);
    }
  }
  MPI_Type_free(&every_other);
  free(out);
  free(in);
  return finish();
}
