/* Programs in which it matters who leaves a collective before others have come; the first argument
   says which (collectives.sh). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, all;

static void send_me(int to) { MPI_Send(&me, 1, MPI_INT, to, 0, MPI_COMM_WORLD); }
static int receive(int source) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}
static void need(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s\n", me, what);
  exit(4);
}

/* Rank 1 comes only when rank 0, the root, has left: without that a deadlock. 2. */
static void leave_bcast(void) {
  int value = me;
  if (me == 1) receive(0);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  need(value == 0, "broadcast");
  if (me == 0) send_me(1);
}

/* Rank 0, the root, comes only when rank 1 has left. 2. */
static void leave_reduce(void) {
  int value = me, sum = 0;
  if (me == 0) receive(1);
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  value = 99;
  need(me > 0 || sum == all * (all - 1) / 2, "sum");
  if (me == 1) send_me(0);
}

/* Nobody can leave a reduction to all. 1, a deadlock. */
static void stay_allreduce(void) {
  int value = me, sum = 0;
  if (me == 0) receive(1);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 1) send_me(0);
}

/* The others have what they need when the root has come: rank 1 need not wait for rank 2. 3: nobody
   leaves, only the root does, both do. */
static void leave_scatter(void) {
  int value = -1, values[16];
  for (int i = 0; i < all; ++i) values[i] = 10 * i;
  if (me == 2) receive(1);
  MPI_Scatter(values, 1, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  need(value == 10 * me, "part");
  if (me == 1) send_me(2);
}

/* Rank 2 receives rank 0's message first only if rank 0, the root, leaves before rank 1 comes: ends
 * with 3 then. */
static void overtake(void) {
  int value = me;
  if (me == 1) send_me(2);
  if (me == 2) {
    if (receive(MPI_ANY_SOURCE) == 0) exit(3);
    receive(MPI_ANY_SOURCE);
  }
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (me == 0) send_me(2);
}

/* Rank 2 sends behind a barrier with rank 0, whose send before that waits for rank 1. Rank 3
   receives its message before rank 1's only if the send is buffered. */
static void barrier_behind_send(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
  if (me == 0) send_me(1);
  if (me % 2 == 0) MPI_Barrier(half);
  if (me == 2) send_me(3);
  if (me == 1) send_me(3), receive(0);
  if (me == 3) printf("%d\n", receive(MPI_ANY_SOURCE)), receive(MPI_ANY_SOURCE);
  MPI_Comm_free(&half);
}

/* A barrier orders what lies before and behind: (2!)^3, whoever is root or leaves. */
static void ordered_rounds(void) {
  int value = me;
  for (int i = 0; i < 3; ++i) {
    if (me > 0) send_me(0);
    for (int k = 1; me == 0 && k < all; ++k) receive(MPI_ANY_SOURCE);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
}

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[2 * i] += ((int*)in)[2 * i];
}

/* Each kind with elements that lie apart. Whoever leaves overwrites its buffers at once. Between
   them everybody sends a message, so that orders differ. For -fuzz, and for one execution of all
   kinds. */
enum { kMost = 16, kCount = 3 };
static int out[2 * kCount * kMost], in[2 * kCount * kMost];
static int counts[kMost], displs[kMost];

static void fill(int step) {
  for (int i = 0; i < 2 * kCount * kMost; ++i) out[i] = 1000 * step + 100 * me + i / 2, in[i] = -1;
}
static void wreck(int* array) { memset(array, 0x5a, sizeof out); }
static void talk(int tag) {
  int value;
  if (me > 0) MPI_Send(&me, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  for (int i = 1; me == 0 && i < all; ++i)
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void one_round(int root, MPI_Datatype apart, MPI_Op sum) {
  const int here = me == root;
  fill(1);
  MPI_Bcast(out, kCount, apart, root, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; ++i) need(out[2 * i] == 1000 + 100 * root + i, "broadcast");
  need(out[1] == 1000 + 100 * me, "the gap of a broadcast");
  wreck(out);
  talk(3 * root);
  fill(2);
  MPI_Gather(out, kCount, apart, in, kCount, apart, root, MPI_COMM_WORLD);
  wreck(out);
  for (int r = 0; here && r < all; ++r)
    for (int i = 0; i < kCount; ++i) need(in[2 * (r * kCount + i)] == 2000 + 100 * r + i, "gather");
  fill(3);
  MPI_Gatherv(out, counts[me], apart, in, counts, displs, apart, root, MPI_COMM_WORLD);
  wreck(out);
  for (int r = 0; here && r < all; ++r)
    for (int i = 0; i < counts[r]; ++i)
      need(in[2 * (displs[r] + i)] == 3000 + 100 * r + i, "gatherv");
  talk(3 * root + 1);
  fill(4);
  MPI_Scatter(out, kCount, apart, in, kCount, apart, root, MPI_COMM_WORLD);
  wreck(out);
  for (int i = 0; i < kCount; ++i)
    need(in[2 * i] == 4000 + 100 * root + me * kCount + i, "scatter");
  need(in[1] == -1, "the gap of a scatter");
  fill(5);
  MPI_Scatterv(out, counts, displs, apart, in, counts[me], apart, root, MPI_COMM_WORLD);
  wreck(out);
  for (int i = 0; i < counts[me]; ++i)
    need(in[2 * i] == 5000 + 100 * root + displs[me] + i, "scatterv");
  talk(3 * root + 2);
  fill(6);
  MPI_Reduce(out, in, kCount, apart, sum, root, MPI_COMM_WORLD);
  wreck(out);
  for (int i = 0; here && i < kCount; ++i)
    need(in[2 * i] == all * (6000 + i) + 50 * all * (all - 1), "reduce");
  fill(7);
  MPI_Reduce(here ? MPI_IN_PLACE : out, out, kMost, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  for (int i = 0; here && i < kMost; ++i)
    need(out[i] == all * (7000 + i / 2) + 50 * all * (all - 1), "reduce in place");
  fill(8);
  if (here)
    MPI_Scatter(out, 2, MPI_INT, MPI_IN_PLACE, 2, MPI_INT, root, MPI_COMM_WORLD);
  else
    MPI_Scatter(NULL, 0, MPI_INT, in, 2, MPI_INT, root, MPI_COMM_WORLD);
  wreck(out);
  if (!here) need(in[0] == 8000 + 100 * root + me, "scatter in place");
}

static void all_kinds(void) {
  MPI_Datatype element, apart;
  MPI_Op sum;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &element);
  MPI_Type_contiguous(1, element, &apart);
  MPI_Type_commit(&apart);
  MPI_Op_create(add, 1, &sum);
  for (int r = 0, at = 0; r < all; at += counts[r++] + 1) counts[r] = r % 2, displs[r] = at;
  for (int root = 0; root < 2; ++root) one_round(root, apart, sum);
  MPI_Op_free(&sum);
  MPI_Type_free(&apart);
  MPI_Type_free(&element);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"leave_bcast", leave_bcast},
                  {"leave_reduce", leave_reduce},
                  {"stay_allreduce", stay_allreduce},
                  {"leave_scatter", leave_scatter},
                  {"overtake", overtake},
                  {"barrier_behind_send", barrier_behind_send},
                  {"ordered_rounds", ordered_rounds},
                  {"all_kinds", all_kinds}};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i)
    if (argc > 1 && !strcmp(argv[1], programs[i].name)) programs[i].run();
  MPI_Finalize();
  return 0;
}
