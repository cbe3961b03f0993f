/* Breadth-first search by active messages, in the style of Graph500's reference code: every rank
 * owns a part of the vertices; visits of others' vertices travel in messages of many, which the
 * owner handles while it polls. Nobody waits: receives are tested by MPI_Testany, sends by MPI_Test,
 * and a level is over for a rank when it has polled a last message from each other one and all that
 * these messages announce.
 *   poll_search [SCALE [SEARCHES [wait]]]   2^SCALE vertices (12), searches (4)
 * `wait`: the same messages, but a rank waits by MPI_Waitany where the other form polls: what they
 * cost by themselves. Prints the time, the processor time of the busiest process, messages, and
 * polls with how many of them were in vain. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { kEdges = 16, kReceives = 4, kSends = 4, kVisits = 256, kTag = 1 };

typedef struct {
  uint32_t vertex, parent;
} Visit;
typedef struct {
  Visit visits[kVisits];
  int count;
} Bundle;

static int g_rank, g_ranks, g_scale = 12, g_waits;
static MPI_Comm g_comm;
static uint32_t g_vertices, g_local;
static uint32_t *g_starts, *g_targets, *g_parents, *g_now, *g_next;
static uint32_t g_count_now, g_count_next;
static Bundle* g_filling; /* for each rank */
static Bundle g_sent[kSends], g_received[kReceives];
static MPI_Request g_sends[kSends], g_requests[kReceives];
static uint64_t g_polls, g_vain, g_messages, g_visits_in, g_visits_announced;
static uint64_t* g_visits_out; /* to each rank, in this level */
static int g_ends;             /* last messages of the level that have come */

static uint64_t mix(uint64_t x) {
  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27, x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
static int owner_of(uint32_t v) { return (int)(v % (uint32_t)g_ranks); }

/* Edge number i of the graph joins these vertices; low ones have more edges. */
static void edge(uint64_t i, uint32_t* a, uint32_t* b) {
  const uint64_t x = mix(2 * i + 1), y = mix(x + i);
  *a = (uint32_t)((x & (x >> 32)) & (g_vertices - 1));
  *b = (uint32_t)(y & (g_vertices - 1));
}

static void make_graph(void) {
  g_vertices = UINT32_C(1) << g_scale;
  g_local = (g_vertices + (uint32_t)g_ranks - 1) / (uint32_t)g_ranks;
  g_starts = calloc(g_local + 2, sizeof *g_starts);
  const uint64_t edges = (uint64_t)kEdges * g_vertices;
  for (int fills = 0; fills < 2; fills++) {
    for (uint64_t i = 0; i < edges; i++) {
      uint32_t v[2];
      edge(i, &v[0], &v[1]);
      for (int side = 0; side < 2; side++) {
        if (owner_of(v[side]) != g_rank) continue;
        const uint32_t local = v[side] / (uint32_t)g_ranks;
        if (fills)
          g_targets[g_starts[local + 1]++] = v[1 - side];
        else
          ++g_starts[local + 2];
      }
    }
    if (fills) break;
    for (uint32_t i = 2; i < g_local + 2; i++) g_starts[i] += g_starts[i - 1];
    g_targets = malloc((g_starts[g_local + 1] + 1) * sizeof *g_targets);
  }
  g_parents = malloc(g_local * sizeof *g_parents);
  g_now = malloc(g_local * sizeof *g_now);
  g_next = malloc(g_local * sizeof *g_next);
  g_filling = calloc((size_t)g_ranks, sizeof *g_filling);
  g_visits_out = calloc((size_t)g_ranks, sizeof *g_visits_out);
}

static void visit(uint32_t vertex, uint32_t parent) {
  const uint32_t i = vertex / (uint32_t)g_ranks;
  if (g_parents[i] != UINT32_MAX) return;
  g_parents[i] = parent;
  g_next[g_count_next++] = i;
}

/* A message with an odd number of words is the last one of its sender's level, and has the number
 * of visits. */
static void handle(int i, const MPI_Status* status) {
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  const int count = bytes / (int)sizeof(Visit);
  if (bytes % (int)sizeof(Visit) != 0) {
    g_visits_announced += g_received[i].visits[0].vertex;
    ++g_ends;
  } else {
    for (int k = 0; k < count; k++)
      visit(g_received[i].visits[k].vertex, g_received[i].visits[k].parent);
    g_visits_in += (uint64_t)count;
  }
  MPI_Irecv(g_received[i].visits, sizeof g_received[i].visits, MPI_BYTE, MPI_ANY_SOURCE, kTag,
            g_comm, &g_requests[i]);
}

/* Handles one message; with `waits`, when it has come. */
static void poll_once(int waits) {
  int index, done = 1;
  MPI_Status status;
  if (waits)
    MPI_Waitany(kReceives, g_requests, &index, &status);
  else
    MPI_Testany(kReceives, g_requests, &index, &done, &status);
  ++g_polls;
  if (done)
    handle(index, &status);
  else
    ++g_vain;
}

/* Returns a place to send from, which is free by then. */
static int free_slot(void) {
  for (;;) {
    for (int i = 0; i < kSends; i++) {
      int done = g_sends[i] == MPI_REQUEST_NULL;
      if (!done) {
        MPI_Test(&g_sends[i], &done, MPI_STATUS_IGNORE);
        ++g_polls;
        g_vain += !done;
      }
      if (done) return i;
    }
    poll_once(0);
  }
}

static void send_words(const void* words, int bytes, int to) {
  const int slot = free_slot();
  memcpy(g_sent[slot].visits, words, (size_t)bytes);
  MPI_Isend(g_sent[slot].visits, bytes, MPI_BYTE, to, kTag, g_comm, &g_sends[slot]);
  ++g_messages;
}

static void send_bundle(int to) {
  Bundle* b = &g_filling[to];
  if (b->count == 0) return;
  send_words(b->visits, b->count * (int)sizeof(Visit), to);
  g_visits_out[to] += (uint64_t)b->count;
  b->count = 0;
}

/* Returns how many vertices the next level has. */
static uint64_t end_level(void) {
  for (int i = 1; i < g_ranks; i++) {
    const int to = (g_rank + i) % g_ranks;
    send_bundle(to);
    const uint32_t visits = (uint32_t)g_visits_out[to];
    send_words(&visits, sizeof visits, to);
    g_visits_out[to] = 0;
  }
  while (g_ends < g_ranks - 1 || g_visits_in < g_visits_announced) poll_once(g_waits);
  g_ends = 0;
  g_visits_in = g_visits_announced = 0;
  uint64_t mine = g_count_next, all;
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, g_comm);
  return all;
}

static uint64_t search(uint32_t root) {
  uint64_t reached = 0, width = 1;
  memset(g_parents, 0xff, g_local * sizeof *g_parents);
  g_count_next = 0;
  if (owner_of(root) == g_rank) visit(root, root);
  while (width > 0) {
    uint32_t* vertices = g_next;
    g_next = g_now, g_now = vertices;
    g_count_now = g_count_next, g_count_next = 0;
    reached += g_count_now;
    for (uint32_t k = 0; k < g_count_now; k++) {
      const uint32_t i = g_now[k], vertex = i * (uint32_t)g_ranks + (uint32_t)g_rank;
      for (uint32_t e = g_starts[i]; e < g_starts[i + 1]; e++) {
        const uint32_t target = g_targets[e];
        const int to = owner_of(target);
        if (to == g_rank) {
          visit(target, vertex);
          continue;
        }
        Bundle* b = &g_filling[to];
        b->visits[b->count++] = (Visit){target, vertex};
        if (b->count == kVisits) send_bundle(to);
      }
    }
    width = end_level();
  }
  return reached;
}

static double processor_seconds(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
  MPI_Comm_rank(g_comm, &g_rank);
  MPI_Comm_size(g_comm, &g_ranks);
  if (argc > 1) g_scale = atoi(argv[1]);
  const int rounds = argc > 2 ? atoi(argv[2]) : 4;
  g_waits = argc > 3 && strcmp(argv[3], "wait") == 0;
  make_graph();
  for (int i = 0; i < kSends; i++) g_sends[i] = MPI_REQUEST_NULL;
  for (int i = 0; i < kReceives; i++)
    MPI_Irecv(g_received[i].visits, sizeof g_received[i].visits, MPI_BYTE, MPI_ANY_SOURCE, kTag,
              g_comm, &g_requests[i]);
  MPI_Barrier(g_comm);
  const double start = MPI_Wtime(), used = processor_seconds();
  uint64_t reached = 0;
  for (int r = 0; r < rounds; r++) reached += search((uint32_t)mix((uint64_t)r) & (g_vertices - 1));
  MPI_Barrier(g_comm);
  const double seconds = MPI_Wtime() - start;
  double mine = processor_seconds() - used, most;
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, g_comm);
  uint64_t counts[4] = {reached, g_messages, g_polls, g_vain}, sums[4];
  MPI_Reduce(counts, sums, 4, MPI_UINT64_T, MPI_SUM, 0, g_comm);
  if (g_rank == 0)
    printf(
        "%d ranks, 2^%d vertices, %d searches: %.3f s, processor time of the busiest process %.3f "
        "s, %llu reached, %llu messages, "
        "%llu polls, %llu in vain\n",
        g_ranks, g_scale, rounds, seconds, most, (unsigned long long)sums[0],
        (unsigned long long)sums[1], (unsigned long long)sums[2], (unsigned long long)sums[3]);
  for (int i = 0; i < kReceives; i++) {
    MPI_Cancel(&g_requests[i]);
    MPI_Wait(&g_requests[i], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kSends; i++) MPI_Wait(&g_sends[i], MPI_STATUS_IGNORE);
  MPI_Comm_free(&g_comm);
  MPI_Finalize();
  return 0;
}
