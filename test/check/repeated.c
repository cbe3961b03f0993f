/* Loops of calls that the checker has seen before, with a mistake in one turn (run.py --both-ways).
 *
 *   repeated list
 *   mpiexec -check repeated NUMBER TURNS BAD FAMILY...
 *
 * The first form writes a line a mistake: its number, the rule that finds it, the family of calls,
 * the kind of mistake. The second makes this mistake (-1: none) in turn BAD of TURNS. A turn makes
 * the calls of the mistake's family and of each FAMILY, from the same lines and with the same
 * arguments as all other turns. So from the second turn on the checker handles most of these calls
 * as repeated ones, also the one that is wrong. In the turn BAD something else is different: what
 * is pending, what other ranks give, what is in an array, or what a handle means. Runs with an even
 * number of ranks, four at least. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum Mistake {
  kNone,
  kPending,   /* a receive into the family's buffer is pending */
  kReducing,  /* a collective into the family's buffer is pending */
  kType,      /* the last rank gives another type */
  kRoot,      /* the last rank gives another root */
  kOp,        /* the last rank gives another operation */
  kArray,     /* rank 0's array has another count for the last rank */
  kLong,      /* a message is longer than its receive */
  kUnmatched, /* a message is not received */
  kBuffered,  /* both ranks send first, or a rank receives only after the collective */
  kAnySource, /* two messages could be received in either order */
  kChanged,   /* a buffer changes before its send is complete */
  kLeft,      /* a request is not completed */
  kTwice,     /* a request is in the list twice */
  kFreed,     /* the communicator was freed */
  kNew,       /* the handle of the datatype is that of a type which was not committed */
  kOverlap,   /* the handle of the datatype is that of a larger type, so that buffers overlap */
  kSelf,      /* the handle of the datatype is that of a type whose entries overlap */
  kStackEnd,  /* the handle of the datatype is that of a type that is larger than the stack */
  kError,     /* MPI returns an error; in each turn */
};

static int rank, size, next, before, last, how;
static int a[64], b[64], c[64], d[64], counts[64], displs[64];
static MPI_Comm w, returning, grid, own_comm = MPI_COMM_NULL;
static MPI_Datatype own_type;
static MPI_Request received, other_received, reduced;

static int is(enum Mistake mistake) { return how == (int)mistake; }
static int is_last(enum Mistake mistake) { return is(mistake) && rank == last; }

#define TYPE (is_last(kType) ? MPI_FLOAT : MPI_INT)
#define ROOT (is_last(kRoot) ? 1 : 0)
#define OP (is_last(kOp) ? MPI_MAX : MPI_SUM)

/* ---- Messages -------------------------------------------------------------------------------- */

static int other(void) { return rank ^ 1; }
static void send_to(int to) { MPI_Send(b, 4, TYPE, to, 1, w); }
static void receive_from(int from) { MPI_Recv(d, 4, MPI_INT, from, 1, w, MPI_STATUS_IGNORE); }
static void send_and_receive(void) {
  if (rank % 2 || is(kBuffered)) {
    send_to(other());
    receive_from(other());
  } else {
    receive_from(other());
    send_to(other());
  }
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 2, w);
  if (rank == 1 && !is(kUnmatched)) MPI_Recv(c, 1, MPI_INT, 0, 2, w, MPI_STATUS_IGNORE);
}
static void receive_into(int from) { MPI_Recv(b, 4, MPI_INT, from, 1, w, MPI_STATUS_IGNORE); }
static void receive(void) {
  if (rank % 2) {
    MPI_Send(a, 4, TYPE, other(), 1, w);
    receive_into(other());
  } else {
    receive_into(other());
    MPI_Send(a, 4, TYPE, other(), 1, w);
  }
}
static void sendrecv(void) {
  MPI_Sendrecv(a, 4, TYPE, next, 3, b, 4, MPI_INT, before, 3, w, MPI_STATUS_IGNORE);
}
static void sendrecv_of_own_type(void) {
  MPI_Sendrecv(a, 1, own_type, next, 4, a + 4, 1, own_type, before, 4, w, MPI_STATUS_IGNORE);
}
static void too_long(void) {
  MPI_Status status;
  if (rank == last) MPI_Send(a, is(kLong) ? 5 : 4, MPI_INT, 0, 5, returning);
  if (rank == 0) MPI_Recv(c, 4, MPI_INT, last, 5, returning, &status);
}
static void too_long_sendrecv(void) {
  MPI_Status status;
  MPI_Sendrecv(a, is_last(kLong) ? 5 : 4, MPI_INT, next, 6, d, 4, MPI_INT, before, 6, returning,
               &status);
}
static void any_source(void) {
  for (int i = 0; i < 2; ++i) {
    if (rank == (i ? last : 1)) MPI_Send(a, 1, MPI_INT, 0, 8, w);
    if (rank == 0)
      MPI_Recv(c, 1, MPI_INT,
               is(kAnySource) ? MPI_ANY_SOURCE
               : i            ? last
                              : 1,
               8, w, MPI_STATUS_IGNORE);
    if (!is(kAnySource)) MPI_Barrier(w);
  }
}
static void refused(void) {
  if (is(kError)) MPI_Send(a, 1, MPI_INT, next, -5, returning);
}

/* ---- Nonblocking messages -------------------------------------------------------------------- */

static void exchange(void) {
  MPI_Request q[2];
  MPI_Irecv(d, 4, MPI_INT, before, 10, w, &q[0]);
  MPI_Isend(b, 4, TYPE, next, 10, w, &q[1]);
  if (is(kChanged)) b[1] = -1;
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  b[1] = 0;
}
static void exchange_into(void) {
  MPI_Request q[2];
  MPI_Irecv(b, 4, MPI_INT, before, 11, w, &q[0]);
  MPI_Isend(a, 4, TYPE, next, 11, w, &q[1]);
  MPI_Wait(&q[1], MPI_STATUS_IGNORE);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
}
static void head_to_head(void) {
  MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (!is(kBuffered)) MPI_Irecv(d, 4, MPI_INT, other(), 12, w, &q[0]);
  MPI_Isend(b, 4, MPI_INT, other(), 12, w, &q[1]);
  MPI_Wait(&q[1], MPI_STATUS_IGNORE);
  if (is(kBuffered)) MPI_Irecv(d, 4, MPI_INT, other(), 12, w, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
}
static void left(void) {
  static MPI_Request q;
  MPI_Request r;
  MPI_Irecv(d, 4, MPI_INT, before, 13, w, &r);
  MPI_Isend(b, 4, MPI_INT, next, 13, w, &q);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  if (!is(kLeft)) MPI_Wait(&q, MPI_STATUS_IGNORE);
}
static void twice(void) {
  MPI_Request q[2];
  MPI_Irecv(c, 1, MPI_INT, before, 14, returning, &q[0]);
  MPI_Irecv(d, 1, MPI_INT, before, 15, returning, &q[1]);
  MPI_Send(a, 1, MPI_INT, next, 14, returning);
  MPI_Send(a, 1, MPI_INT, next, 15, returning);
  const MPI_Request second = q[1];
  if (is(kTwice)) q[1] = q[0];
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  if (!is(kTwice)) return;
  q[1] = second;
  MPI_Wait(&q[1], MPI_STATUS_IGNORE);
}

/* ---- Handles --------------------------------------------------------------------------------- */

static void freed(void) {
  if (own_comm == MPI_COMM_NULL) MPI_Comm_dup(returning, &own_comm);
  const MPI_Comm used = own_comm;
  if (is(kFreed)) MPI_Comm_free(&own_comm);
  MPI_Sendrecv(a, 1, MPI_INT, next, 16, c, 1, MPI_INT, before, 16, used, MPI_STATUS_IGNORE);
}
static void send_of_own_type(void) {
  MPI_Sendrecv(a, 1, own_type, next, 17, b, 2, MPI_INT, before, 17, returning, MPI_STATUS_IGNORE);
}
/* Gives the datatype anew, which usually has the handle that it had before. */
static void renew_type(int elements, int commit) {
  if (own_type != MPI_DATATYPE_NULL) MPI_Type_free(&own_type);
  MPI_Type_contiguous(elements, MPI_INT, &own_type);
  if (commit) MPI_Type_commit(&own_type);
}

/* Nothing is received, so the memory is not touched. */
static void receive_on_stack(void) {
  int on_stack[4];
  MPI_Request q;
  if (is(kStackEnd)) renew_type(1 << 21, 1);
  MPI_Irecv(on_stack, 1, own_type, next, 18, w, &q);
  MPI_Cancel(&q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  if (is(kStackEnd)) renew_type(2, 1);
}

/* Makes own_type, of two integers of which the second begins within the first. */
static void overlap_type(void) {
  MPI_Type_free(&own_type);
  MPI_Type_create_hvector(2, 1, 2, MPI_INT, &own_type);
  MPI_Type_commit(&own_type);
}

/* ---- Collectives ----------------------------------------------------------------------------- */

/* Each is blocking, and nonblocking with a wait. A message is received before it or, wrongly, after
 * it. */
#define TWO_FORMS(Name, name, ...)   \
  static void name(void) {           \
    around(0);                       \
    MPI_##Name(__VA_ARGS__);         \
    around(1);                       \
  }                                  \
  static void i##name(void) {        \
    MPI_Request q;                   \
    around(0);                       \
    MPI_I##name(__VA_ARGS__, &q);    \
    MPI_Wait(&q, MPI_STATUS_IGNORE); \
    around(1);                       \
  }
/* The last rank receives from rank 1, too: so it comes to the collective after rank 1, and its call
 * can equal one that has been made there already. */
static void receive_around(void) { MPI_Recv(d + 32, 1, MPI_INT, 0, 18, w, MPI_STATUS_IGNORE); }
static void around(int after) {
  if (rank == 1 && !after) MPI_Send(c + 32, 1, MPI_INT, last, 19, w);
  if (rank == last && !after) MPI_Recv(d + 33, 1, MPI_INT, 1, 19, w, MPI_STATUS_IGNORE);
  if (rank == 0 && !after) MPI_Send(c + 32, 1, MPI_INT, last, 18, w);
  if (rank == last && after == is(kBuffered)) receive_around();
}
TWO_FORMS(Barrier, barrier, w)
TWO_FORMS(Bcast, bcast, b, 2, TYPE, ROOT, w)
TWO_FORMS(Gather, gather, b, 2, TYPE, d, 2, TYPE, ROOT, w)
TWO_FORMS(Scatter, scatter, a, 2, TYPE, b, 2, TYPE, ROOT, w)
TWO_FORMS(Allgather, allgather, a, 2, TYPE, b, 2, TYPE, w)
TWO_FORMS(Alltoall, alltoall, a, 2, TYPE, b, 2, TYPE, w)
TWO_FORMS(Reduce, reduce, b, d, 2, TYPE, OP, ROOT, w)
TWO_FORMS(Allreduce, allreduce, a, b, 2, TYPE, OP, w)
TWO_FORMS(Scan, scan, a, b, 2, TYPE, OP, w)
TWO_FORMS(Exscan, exscan, a, b, 2, TYPE, OP, w)
TWO_FORMS(Reduce_scatter_block, reduce_scatter_block, a, b, 2, TYPE, OP, w)
TWO_FORMS(Reduce_scatter, reduce_scatter, a, b, counts, TYPE, OP, w)
TWO_FORMS(Gatherv, gatherv, b, 2, TYPE, d, counts, displs, TYPE, ROOT, w)
TWO_FORMS(Scatterv, scatterv, a, counts, displs, TYPE, b, 2, TYPE, ROOT, w)
TWO_FORMS(Allgatherv, allgatherv, a, 2, TYPE, b, counts, displs, TYPE, w)
TWO_FORMS(Alltoallv, alltoallv, a, counts, displs, TYPE, b, counts, displs, TYPE, w)
TWO_FORMS(Neighbor_alltoall, neighbor_alltoall, a, 2, TYPE, b, 2, TYPE, grid)

/* ---- Mistakes -------------------------------------------------------------------------------- */

typedef void (*Family)(void);
#define COLLECTIVES(f)                                                                             \
  f(barrier) f(bcast) f(gather) f(scatter) f(allgather) f(alltoall) f(reduce) f(allreduce) f(scan) \
      f(exscan) f(reduce_scatter_block) f(reduce_scatter) f(gatherv) f(scatterv) f(allgatherv)     \
          f(alltoallv) f(neighbor_alltoall)
#define MESSAGES(f)                                                                              \
  f(send_and_receive) f(receive) f(sendrecv) f(sendrecv_of_own_type) f(too_long)                 \
      f(too_long_sendrecv) f(any_source) f(refused) f(exchange) f(exchange_into) f(head_to_head) \
          f(left) f(twice) f(freed) f(send_of_own_type) f(receive_on_stack)
#define ONE_MORE(name) +1
enum { kMessageFamilies = 0 MESSAGES(ONE_MORE) };
#define NAMED(name) {#name, name},
#define NAMED_TWICE(name) {#name, name}, {"i" #name, i##name},
static const struct {
  const char* name;
  Family calls;
} kFamilies[] = {MESSAGES(NAMED) COLLECTIVES(NAMED_TWICE)};

/* Families, separated by spaces, of which each makes the mistake. */
#define ROOTED                                                                             \
  "bcast gather scatter reduce gatherv scatterv ibcast igather iscatter ireduce igatherv " \
  "iscatterv"
#define REDUCING                                                                               \
  "reduce allreduce scan exscan reduce_scatter_block reduce_scatter ireduce iallreduce iscan " \
  "iexscan ireduce_scatter_block ireduce_scatter"
#define TYPED                                                                                  \
  "bcast gather scatter allgather alltoall reduce allreduce scan exscan reduce_scatter_block " \
  "reduce_scatter gatherv scatterv allgatherv "                                                \
  "neighbor_alltoall ibcast igather iscatter iallgather ialltoall ireduce iallreduce iscan "   \
  "iexscan ireduce_scatter_block ireduce_scatter igatherv "                                    \
  "iscatterv iallgatherv ineighbor_alltoall"
#define BUFFERED \
  "send_and_receive receive sendrecv exchange exchange_into alltoallv ialltoallv " TYPED
static const struct {
  const char* rule;
  enum Mistake mistake;
  const char* families;
} kMistakes[] = {
    {"check_pending_buffers", kPending, BUFFERED},
    {"check_pending_buffers", kReducing, BUFFERED},
    {"check_collective_before", kType, TYPED},
    {"check_collective_before", kRoot, ROOTED},
    {"check_collective_before", kOp, REDUCING},
    {"check_collective_before", kArray,
     "allgatherv gatherv scatterv alltoallv iallgatherv igatherv iscatterv ialltoallv"},
    {"record_collective_after", kBuffered,
     "barrier bcast allgather alltoall allreduce allgatherv alltoallv"},
    {"record_requests_after", kBuffered,
     "ibarrier ibcast iallgather ialltoall iallreduce iallgatherv head_to_head"},
    {"record_send_after", kBuffered, "send_and_receive"},
    {"record_messages_after", kType, "send_and_receive receive sendrecv"},
    {"record_messages_after", kAnySource, "any_source"},
    {"record_requests_after", kType, "exchange exchange_into"},
    {"record_requests_after", kChanged, "exchange"},
    {"record_requests_after", kLeft, "left"},
    {"check_messages_before", kUnmatched, "send_and_receive"},
    {"check_requests_before", kTwice, "twice"},
    {"undo_messages", kLong, "too_long too_long_sendrecv"},
    {"report_error_after", kError, "refused"},
    {"check_handles_before", kFreed, "freed"},
    {"check_types_committed", kNew, "send_of_own_type"},
    {"check_own_buffers", kOverlap, "sendrecv_of_own_type"},
    {"check_received_types", kSelf, "sendrecv_of_own_type"},
    {"check_stack_end", kStackEnd, "receive_on_stack"},
};

static int family_of(const char* name, size_t length) {
  for (int i = 0; i < (int)(sizeof kFamilies / sizeof *kFamilies); ++i)
    if (strlen(kFamilies[i].name) == length && !strncmp(kFamilies[i].name, name, length)) return i;
  fprintf(stderr, "no family %s\n", name);
  exit(3);
}

/* Goes through the mistakes up to number `wanted`; returns their count. */
static int find(int wanted, int* family, int* mistake, int print) {
  int number = 0;
  for (int i = 0; i < (int)(sizeof kMistakes / sizeof *kMistakes); ++i)
    for (const char* at = kMistakes[i].families; *at;) {
      const size_t length = strcspn(at, " ");
      const int found = family_of(at, length);
      if (print)
        printf("%d\t%s\t%s\t%d\n", number, kMistakes[i].rule, kFamilies[found].name,
               (int)kMistakes[i].mistake);
      if (number++ == wanted) *family = found, *mistake = kMistakes[i].mistake;
      at += length;
      at += *at == ' ';
    }
  return number;
}

/* Each family uses the buffer b. All that is sent is 0, so that b does not change while an
 * operation into it is pending. */
static void begin_receive(void) { MPI_Irecv(b, 16, MPI_INT, before, 9, w, &received); }
static void end_receive(void) {
  MPI_Send(c, 16, MPI_INT, next, 9, w);
  MPI_Wait(&received, MPI_STATUS_IGNORE);
}
static void begin_reduction(void) {
  MPI_Iallreduce(c, b, 16, MPI_INT, MPI_SUM, returning, &reduced);
}
static void end_reduction(void) { MPI_Wait(&reduced, MPI_STATUS_IGNORE); }
/* A pending receive that is in nobody's way. */
static void begin_other(void) { MPI_Irecv(d + 40, 1, MPI_INT, before, 20, w, &other_received); }
static void end_other(void) {
  MPI_Send(c + 40, 1, MPI_INT, next, 20, w);
  MPI_Wait(&other_received, MPI_STATUS_IGNORE);
}

static void make_turn(int family, int mistake, int bad, int count, char** others) {
  const int other = mistake == kPending && family < kMessageFamilies;
  how = bad || mistake == kError ? mistake : kNone;
  counts[last] = is(kArray) && rank == 0 ? 1 : 2;
  if (mistake == kNew) renew_type(2, !bad);
  if (mistake == kOverlap || mistake == kSelf) renew_type(bad && is(kOverlap) ? 8 : 2, 1);
  if (is(kSelf)) overlap_type();
  if (mistake == kReducing) {
    begin_reduction();
    if (!is(kReducing)) end_reduction();
  } else {
    if (other) begin_other();
    begin_receive();
    if (!is(kPending)) end_receive();
  }
  kFamilies[family].calls();
  if (is(kReducing)) end_reduction();
  if (is(kPending)) end_receive();
  if (other) end_other();
  how = kNone;
  counts[last] = 2;
  for (int i = 0; i < count; ++i) kFamilies[family_of(others[i], strlen(others[i]))].calls();
}

int main(int argc, char** argv) {
  int family = 0, mistake = kNone, dims[1] = {0}, periods[1] = {1};
  if (argc > 1 && !strcmp(argv[1], "list")) return find(-1, &family, &mistake, 1) == 0;
  MPI_Init(&argc, &argv);
  w = MPI_COMM_WORLD;
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &size);
  next = (rank + 1) % size, before = (rank + size - 1) % size, last = size - 1;
  for (int i = 0; i < 64; ++i) counts[i] = 2, displs[i] = 2 * i;
  MPI_Comm_dup(w, &returning);
  MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
  MPI_Dims_create(size, 1, dims);
  MPI_Cart_create(w, 1, dims, periods, 0, &grid);
  own_type = MPI_DATATYPE_NULL;
  renew_type(2, 1);
  find(atoi(argv[1]), &family, &mistake, 0);
  const int turns = atoi(argv[2]), bad = atoi(argv[3]);
  for (int turn = 0; turn < turns; ++turn) {
    make_turn(family, mistake, turn == bad, argc - 4, argv + 4);
    MPI_Barrier(w);
  }
  if (own_comm != MPI_COMM_NULL) MPI_Comm_free(&own_comm);
  MPI_Type_free(&own_type);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&returning);
  MPI_Finalize();
  return 0;
}
