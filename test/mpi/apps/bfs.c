/* Breadth-first search of a pseudo-random graph, level by level: the frontier travels by Alltoall
 * and Alltoallv. Every rank compares its levels with those of a serial search. */
#include <string.h>

#include "mpitest.h"

enum { kOwn = 8, kDegree = 3 }; /* vertices a rank, edges a vertex */

static unsigned neighbour(unsigned vertex, unsigned edge, unsigned vertices) {
  unsigned h = vertex * 2654435761u + edge * 40503u + 12345;
  if (edge == 0) return (vertex + 1) % vertices; /* all are reached */
  h ^= h >> 13;
  h *= 0x5bd1e995;
  return (h ^ h >> 15) % vertices;
}

static void starts(const int* counts, int* at, int n) {
  at[0] = 0;
  for (int i = 0; i < n; ++i) at[i + 1] = at[i] + counts[i];
}

/* The vertices (as their owners number them) that lie behind the frontier, sent to their owners;
 * *got of them. */
static int* expand(const int* frontier, int count, int rank, int size, int* got) {
  int *sent = calloc(size, sizeof(int)), *received = malloc(size * sizeof(int));
  int *from = malloc((size + 1) * sizeof(int)), *to = malloc((size + 1) * sizeof(int)),
      *next = malloc(size * sizeof(int));
  int* out = malloc((count * kDegree + 1) * sizeof(int));
  unsigned vertices = (unsigned)kOwn * size;
  for (int i = 0; i < count * kDegree; ++i)
    ++sent[neighbour(rank * kOwn + frontier[i / kDegree], i % kDegree, vertices) / kOwn];
  starts(sent, to, size);
  memcpy(next, to, size * sizeof(int));
  for (int i = 0; i < count * kDegree; ++i) {
    unsigned v = neighbour(rank * kOwn + frontier[i / kDegree], i % kDegree, vertices);
    out[next[v / kOwn]++] = v % kOwn;
  }
  OK(MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD));
  starts(received, from, size);
  *got = from[size];
  int* in = malloc((*got + 1) * sizeof(int));
  OK(MPI_Alltoallv(out, sent, to, MPI_INT, in, received, from, MPI_INT, MPI_COMM_WORLD));
  free(sent), free(received), free(from), free(to), free(next), free(out);
  return in;
}

static int* serial_levels(int vertices) {
  int *level = malloc(vertices * sizeof(int)), *queue = malloc(vertices * sizeof(int)), head = 0,
      tail = 0;
  for (int i = 0; i < vertices; ++i) level[i] = -1;
  level[0] = 0;
  for (queue[tail++] = 0; head < tail; ++head)
    for (int e = 0; e < kDegree; ++e) {
      int v = neighbour(queue[head], e, vertices);
      if (level[v] >= 0) continue;
      level[v] = level[queue[head]] + 1;
      queue[tail++] = v;
    }
  free(queue);
  return level;
}

int main(int argc, char** argv) {
  int rank, size, level[kOwn], frontier[kOwn], count = 0, busy = 1;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int i = 0; i < kOwn; ++i) level[i] = -1;
  if (rank == 0) level[frontier[count++] = 0] = 0;
  for (int depth = 1; busy; ++depth) {
    int got, *in = expand(frontier, count, rank, size, &got);
    count = 0;
    for (int i = 0; i < got; ++i) {
      if (level[in[i]] >= 0) continue;
      level[in[i]] = depth;
      frontier[count++] = in[i];
    }
    free(in);
    int mine = count > 0;
    OK(MPI_Allreduce(&mine, &busy, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  }
  int* expected = serial_levels(kOwn * size);
  for (int i = 0; i < kOwn; ++i) CHECK(level[i] == expected[rank * kOwn + i]);
  free(expected);
  return finish();
}
