/* Every collective at several sizes, for this library and for any other MPI: coll_compare.py runs
 * and compares them.
 *
 *   mpiexec -n 2 -nfg 8 coll_compare
 *   mpiexec -n 2 -nfg 8 coll_compare -b 0.5 -s 65536 alltoall allreduce
 *
 * -b: seconds a measurement may take (2); -s: only this size in bytes (all); -f: those behind this
 * measurement (name:bytes); -a: calls apart, each between two barriers (below); -l: the bound by
 * memory too.
 *
 * Bytes are those of the vector (bcast, reductions, scans) or of one block (all others: what one
 * rank sends to one; reduce_scatter: what one rank gets). A measurement is one call to warm up, one
 * to see how long it takes, then rounds of batches while the budget lasts, at least one call more.
 * The time is that of the slowest rank, a mean over a batch, and the best batch counts.
 *
 * Calls one after the other overlap where a rank may leave early (the root of a broadcast runs
 * ahead). With -a a barrier follows each call, and what that barrier costs by itself is taken off:
 * the time from all having begun to all having ended.
 *
 * Output: a line `begin NAME BYTES` before each measurement, so that whoever runs this knows what
 * did not end, then `time NAME BYTES SECONDS`; with -l also `bound NAME BYTES SECONDS`: the time in
 * which memcpy, all processes at once, moves the bytes that any algorithm must read and write
 * (Cost, below). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_leaders.h"

/* What the collectives take; blocks of `n` doubles. */
typedef struct {
  char *in, *out;
  int n, ranks, rank;
  int *counts, *displs, *bytes_displs;
  MPI_Aint* aint_displs;
  MPI_Datatype* types;
  MPI_Comm comm, grid; /* grid: two periodic dimensions, four neighbours */
  MPI_Request request;
} Job;

#define D MPI_DOUBLE

static void barrier(Job* j) { MPI_Barrier(j->comm); }
static void bcast(Job* j) { MPI_Bcast(j->in, j->n, D, 0, j->comm); }
static void gather(Job* j) { MPI_Gather(j->in, j->n, D, j->out, j->n, D, 0, j->comm); }
static void gatherv(Job* j) {
  MPI_Gatherv(j->in, j->n, D, j->out, j->counts, j->displs, D, 0, j->comm);
}
static void scatter(Job* j) { MPI_Scatter(j->in, j->n, D, j->out, j->n, D, 0, j->comm); }
static void scatterv(Job* j) {
  MPI_Scatterv(j->in, j->counts, j->displs, D, j->out, j->n, D, 0, j->comm);
}
static void allgather(Job* j) { MPI_Allgather(j->in, j->n, D, j->out, j->n, D, j->comm); }
static void allgatherv(Job* j) {
  MPI_Allgatherv(j->in, j->n, D, j->out, j->counts, j->displs, D, j->comm);
}
static void alltoall(Job* j) { MPI_Alltoall(j->in, j->n, D, j->out, j->n, D, j->comm); }
static void alltoallv(Job* j) {
  MPI_Alltoallv(j->in, j->counts, j->displs, D, j->out, j->counts, j->displs, D, j->comm);
}
static void alltoallw(Job* j) {
  MPI_Alltoallw(j->in, j->counts, j->bytes_displs, j->types, j->out, j->counts, j->bytes_displs,
                j->types, j->comm);
}
static void reduce(Job* j) { MPI_Reduce(j->in, j->out, j->n, D, MPI_SUM, 0, j->comm); }
static void allreduce(Job* j) { MPI_Allreduce(j->in, j->out, j->n, D, MPI_SUM, j->comm); }
static void reduce_scatter(Job* j) {
  MPI_Reduce_scatter(j->in, j->out, j->counts, D, MPI_SUM, j->comm);
}
static void reduce_scatter_block(Job* j) {
  MPI_Reduce_scatter_block(j->in, j->out, j->n, D, MPI_SUM, j->comm);
}
static void scan(Job* j) { MPI_Scan(j->in, j->out, j->n, D, MPI_SUM, j->comm); }
static void exscan(Job* j) { MPI_Exscan(j->in, j->out, j->n, D, MPI_SUM, j->comm); }
static void neighbor_allgather(Job* j) {
  MPI_Neighbor_allgather(j->in, j->n, D, j->out, j->n, D, j->grid);
}
static void neighbor_allgatherv(Job* j) {
  MPI_Neighbor_allgatherv(j->in, j->n, D, j->out, j->counts, j->displs, D, j->grid);
}
static void neighbor_alltoall(Job* j) {
  MPI_Neighbor_alltoall(j->in, j->n, D, j->out, j->n, D, j->grid);
}
static void neighbor_alltoallv(Job* j) {
  MPI_Neighbor_alltoallv(j->in, j->counts, j->displs, D, j->out, j->counts, j->displs, D, j->grid);
}
static void neighbor_alltoallw(Job* j) {
  MPI_Neighbor_alltoallw(j->in, j->counts, j->aint_displs, j->types, j->out, j->counts,
                         j->aint_displs, j->types, j->grid);
}
static void ibarrier(Job* j) {
  MPI_Ibarrier(j->comm, &j->request);
  MPI_Wait(&j->request, MPI_STATUS_IGNORE);
}
static void ibcast(Job* j) {
  MPI_Ibcast(j->in, j->n, D, 0, j->comm, &j->request);
  MPI_Wait(&j->request, MPI_STATUS_IGNORE);
}
static void iallreduce(Job* j) {
  MPI_Iallreduce(j->in, j->out, j->n, D, MPI_SUM, j->comm, &j->request);
  MPI_Wait(&j->request, MPI_STATUS_IGNORE);
}
static void ialltoall(Job* j) {
  MPI_Ialltoall(j->in, j->n, D, j->out, j->n, D, j->comm, &j->request);
  MPI_Wait(&j->request, MPI_STATUS_IGNORE);
}
#if MPI_VERSION >= 4
/* Persistent: begun once (first call of a job), then started again and again. */
static void start_again(Job* j) {
  MPI_Start(&j->request);
  MPI_Wait(&j->request, MPI_STATUS_IGNORE);
}
static void allreduce_init(Job* j) {
  if (j->request == MPI_REQUEST_NULL)
    MPI_Allreduce_init(j->in, j->out, j->n, D, MPI_SUM, j->comm, MPI_INFO_NULL, &j->request);
  start_again(j);
}
static void alltoall_init(Job* j) {
  if (j->request == MPI_REQUEST_NULL)
    MPI_Alltoall_init(j->in, j->n, D, j->out, j->n, D, j->comm, MPI_INFO_NULL, &j->request);
  start_again(j);
}
#endif

/* What a process that hosts k of N ranks must read and write, in blocks: rooted ones at the root's
 * process, which has most to do. */
typedef struct {
  enum { kOne, kMembers, kRanks, kProduct, kFour } read, write;
} Cost;

static size_t blocks(int which, size_t members, size_t ranks) {
  switch (which) {
    case kOne:
      return 1;
    case kMembers:
      return members;
    case kRanks:
      return ranks;
    case kFour:
      return 4 * members;
    default:
      return members * ranks;
  }
}

/* How many blocks of memory a rank needs on each side: 1, one a rank, or one a neighbour. */
typedef enum { kSingle, kEach, kNeighbors } Room;

typedef struct {
  const char* name;
  void (*run)(Job*);
  Room in, out;
  Cost cost;
} Collective;

static const Collective kAll[] = {
    {"barrier", barrier, kSingle, kSingle, {kOne, kOne}},
    {"bcast", bcast, kSingle, kSingle, {kOne, kMembers}},
    {"gather", gather, kSingle, kEach, {kRanks, kRanks}},
    {"gatherv", gatherv, kSingle, kEach, {kRanks, kRanks}},
    {"scatter", scatter, kEach, kSingle, {kRanks, kRanks}},
    {"scatterv", scatterv, kEach, kSingle, {kRanks, kRanks}},
    {"allgather", allgather, kSingle, kEach, {kRanks, kProduct}},
    {"allgatherv", allgatherv, kSingle, kEach, {kRanks, kProduct}},
    {"alltoall", alltoall, kEach, kEach, {kProduct, kProduct}},
    {"alltoallv", alltoallv, kEach, kEach, {kProduct, kProduct}},
    {"alltoallw", alltoallw, kEach, kEach, {kProduct, kProduct}},
    {"reduce", reduce, kSingle, kSingle, {kMembers, kOne}},
    {"allreduce", allreduce, kSingle, kSingle, {kMembers, kMembers}},
    {"reduce_scatter", reduce_scatter, kEach, kSingle, {kProduct, kMembers}},
    {"reduce_scatter_block", reduce_scatter_block, kEach, kSingle, {kProduct, kMembers}},
    {"scan", scan, kSingle, kSingle, {kMembers, kMembers}},
    {"exscan", exscan, kSingle, kSingle, {kMembers, kMembers}},
    {"neighbor_allgather", neighbor_allgather, kSingle, kNeighbors, {kMembers, kFour}},
    {"neighbor_allgatherv", neighbor_allgatherv, kSingle, kNeighbors, {kMembers, kFour}},
    {"neighbor_alltoall", neighbor_alltoall, kNeighbors, kNeighbors, {kFour, kFour}},
    {"neighbor_alltoallv", neighbor_alltoallv, kNeighbors, kNeighbors, {kFour, kFour}},
    {"neighbor_alltoallw", neighbor_alltoallw, kNeighbors, kNeighbors, {kFour, kFour}},
    {"ibarrier", ibarrier, kSingle, kSingle, {kOne, kOne}},
    {"ibcast", ibcast, kSingle, kSingle, {kOne, kMembers}},
    {"iallreduce", iallreduce, kSingle, kSingle, {kMembers, kMembers}},
    {"ialltoall", ialltoall, kEach, kEach, {kProduct, kProduct}},
#if MPI_VERSION >= 4
    {"allreduce_init", allreduce_init, kSingle, kSingle, {kMembers, kMembers}},
    {"alltoall_init", alltoall_init, kEach, kEach, {kProduct, kProduct}},
#endif
};

static const int kSizes[] = {8, 1024, 65536, 1 << 20};
enum { kRounds = 9, kPiece = 32 * 1024 };
/* Buffers of all ranks together: larger measurements are left out. */
static const size_t kMostMemory = (size_t)3 << 30;

typedef struct {
  double budget;
  int size, apart, bound;
  const char* from;
} Options;

static size_t room(Room r, size_t bytes, int ranks) {
  return bytes * (r == kSingle ? 1 : r == kEach ? (size_t)ranks : 4);
}

static void make_job(Job* j, const Collective* c, int bytes) {
  int slots = j->ranks > 4 ? j->ranks : 4;
  size_t in = room(c->in, (size_t)bytes, j->ranks), out = room(c->out, (size_t)bytes, j->ranks);
  memset(j->in = malloc(in + 1), 0, in + 1);
  memset(j->out = malloc(out + 1), 0, out + 1);
  j->n = bytes / 8;
  j->counts = malloc(sizeof(int) * (size_t)slots);
  j->displs = malloc(sizeof(int) * (size_t)slots);
  j->bytes_displs = malloc(sizeof(int) * (size_t)slots);
  j->aint_displs = malloc(sizeof(MPI_Aint) * (size_t)slots);
  j->types = malloc(sizeof(MPI_Datatype) * (size_t)slots);
  for (int i = 0; i < slots; ++i) {
    j->counts[i] = j->n;
    j->displs[i] = i * j->n;
    j->aint_displs[i] = (MPI_Aint)i * bytes;
    j->bytes_displs[i] = (int)j->aint_displs[i];
    j->types[i] = D;
  }
  j->request = MPI_REQUEST_NULL;
}

static void end_job(Job* j) {
  if (j->request != MPI_REQUEST_NULL) MPI_Request_free(&j->request);
  free(j->in);
  free(j->out);
  free(j->counts);
  free(j->displs);
  free(j->bytes_displs);
  free(j->aint_displs);
  free(j->types);
}

/* Seconds a call, at this rank. */
static double batch_of(Job* j, const Collective* c, int calls, int apart) {
  MPI_Barrier(j->comm);
  double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    c->run(j);
    if (apart) MPI_Barrier(j->comm);
  }
  return (MPI_Wtime() - start) / calls;
}

/* A batch by the slowest rank, known at rank 0; *best becomes it where it is better. */
static void improve(double* best, Job* j, const Collective* c, int calls, int apart) {
  double mine = batch_of(j, c, calls, apart), slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, j->comm);
  if (j->rank == 0 && slowest < *best) *best = slowest;
}

/* The best batch, known at rank 0. Barriers alone take turns with what they are taken off from. */
static double best_of(Job* j, const Collective* c, const Options* o) {
  int plan[2] = {1, 1}; /* calls a batch, batches */
  double once = batch_of(j, c, 1, o->apart), best = 1e9, alone = 1e9;
  if (j->rank == 0) {
    double calls = 0.02 / (once + 1e-7), rounds;
    plan[0] = calls < 1 ? 1 : calls > 2000 ? 2000 : (int)calls;
    rounds = o->budget / (plan[0] * once + 1e-7);
    plan[1] = rounds < 1 ? 1 : rounds > kRounds ? kRounds : (int)rounds;
  }
  MPI_Bcast(plan, 2, MPI_INT, 0, j->comm);
  for (int round = 0; round < plan[1]; ++round) {
    improve(&best, j, c, plan[0], o->apart);
    if (o->apart) improve(&alone, j, &kAll[0], plan[0], 0);
  }
  if (!o->apart) return best;
  return best > alone ? best - alone : 0;
}

static void measure(Job* j, const Collective* c, int bytes, const Options* o) {
  if (j->rank == 0) {
    printf("begin %s %d\n", c->name, bytes);
    fflush(stdout);
  }
  make_job(j, c, bytes);
  c->run(j);
  double best = best_of(j, c, o);
  if (j->rank == 0) {
    printf("time %s %d %.9f\n", c->name, bytes, best);
    fflush(stdout);
  }
  end_job(j);
}

/* Copies as many bytes as the larger of both sides, piece by piece, round and round in the smaller.
 */
static void move(char* to, size_t written, const char* from, size_t read) {
  size_t all = written > read ? written : read;
  for (size_t at = 0; at < all; at += kPiece) {
    size_t n = all - at < kPiece ? all - at : kPiece;
    memcpy(to + (written < kPiece ? 0 : at % written), from + (read < kPiece ? 0 : at % read), n);
  }
}

static void bound(MPI_Comm leaders, int hosted, int ranks, const Collective* c, int bytes) {
  int rank;
  MPI_Comm_rank(leaders, &rank);
  size_t read = (size_t)bytes * blocks(c->cost.read, (size_t)hosted, (size_t)ranks);
  size_t written = (size_t)bytes * blocks(c->cost.write, (size_t)hosted, (size_t)ranks);
  char *from = malloc(read + kPiece), *to = malloc(written + kPiece);
  memset(from, 1, read + kPiece);
  memset(to, 2, written + kPiece);
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Barrier(leaders);
    double start = MPI_Wtime(), slowest;
    move(to, written, from, read);
    double mine = MPI_Wtime() - start;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, leaders);
    if (slowest < best) best = slowest;
  }
  if (rank == 0) printf("bound %s %d %.9f\n", c->name, bytes, best);
  free(from);
  free(to);
}

static int wanted(const char* name, int names, char** list) {
  for (int i = 0; i < names; ++i)
    if (strcmp(list[i], name) == 0) return 1;
  return names == 0;
}

/* Returns the names that follow the options. */
static char** read_options(char** argv, Options* o) {
  char** next = argv + 1;
  for (; *next && **next == '-'; ++next) {
    char which = (*next)[1];
    if (which == 'a') {
      o->apart = 1;
    } else if (which == 'l') {
      o->bound = 1;
    } else if (strchr("bsf", which) && which && next[1]) {
      ++next;
      if (which == 'b') o->budget = atof(*next);
      if (which == 's') o->size = atoi(*next);
      if (which == 'f') o->from = *next;
    } else {
      fprintf(stderr,
              "coll_compare: unknown option %s: -a, -l, -b SECONDS, -s BYTES, -f NAME:BYTES\n",
              *next);
      exit(2);
    }
  }
  return next;
}

int main(int argc, char** argv) {
  Options o = {2.0, 0, 0, 0, NULL};
  Job j;
  MPI_Comm leaders = MPI_COMM_NULL;
  int hosted = 0, dims[2] = {0, 0}, periods[2] = {1, 1}, begun;
  MPI_Init(&argc, &argv);
  char** list = read_options(argv, &o);
  int names = 0;
  while (list[names]) ++names;
  j.comm = MPI_COMM_WORLD;
  MPI_Comm_rank(j.comm, &j.rank);
  MPI_Comm_size(j.comm, &j.ranks);
  MPI_Dims_create(j.ranks, 2, dims);
  MPI_Cart_create(j.comm, 2, dims, periods, 0, &j.grid);
  if (o.bound) find_leaders(&leaders, &hosted);
  begun = o.from == NULL;
  for (size_t i = 0; i < sizeof kAll / sizeof *kAll; ++i) {
    const Collective* c = &kAll[i];
    if (!wanted(c->name, names, list)) continue;
    int sized = strstr(c->name, "barrier") == NULL;
    for (size_t s = 0; s < (sized ? sizeof kSizes / sizeof *kSizes : 1); ++s) {
      int bytes = sized ? kSizes[s] : 0;
      char label[64];
      snprintf(label, sizeof label, "%s:%d", c->name, bytes);
      int here = begun;
      begun |= o.from && strcmp(o.from, label) == 0;
      if (!here || (o.size && sized && bytes != o.size)) continue;
      size_t memory = room(c->in, (size_t)bytes, j.ranks) + room(c->out, (size_t)bytes, j.ranks);
      if (memory * (size_t)j.ranks > kMostMemory) continue;
      measure(&j, c, bytes, &o);
      if (o.bound && bytes >= 1 << 16 && leaders != MPI_COMM_NULL)
        bound(leaders, hosted, j.ranks, c, bytes);
    }
  }
  if (o.bound && leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
  MPI_Comm_free(&j.grid);
  MPI_Finalize();
  return 0;
}
