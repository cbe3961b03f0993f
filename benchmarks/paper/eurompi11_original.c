/* The original scheme that "Scaling Performance Tool MPI Communicator Management" (EuroMPI 2011,
 * section 3) replaces, for PFLOTRAN's communicators: each communicator of each rank is a bitstring
 * of all ranks, made by MPI_Group_translate_ranks; at the end lists of bitstrings are merged up a
 * tree, equal ones (the k-th of one with the k-th of the other) to one definition, and tables from
 * local to global numbers come back down it.
 *   eurompi11_original [translate]
 * Prints bytes of the definitions and seconds. Memory is O(p^2): 24 bitstrings of p bits at each of
 * p ranks, and in the end 19 + 5 p of them at the root: 3.2 GB at 32,768 ranks, 13 GB at 65,536, 52
 * GB at 131,072. "translate": instead, the cost of MPI_Group_translate_ranks against the rank that
 * is translated. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kDups = 18, kSelves = 4, kComms = 2 + kDups + kSelves };

static int rank, size;
static size_t width; /* bytes of a bitstring */

struct list {
  unsigned char* bits; /* count bitstrings */
  size_t count;
};

static void set_bits(MPI_Comm comm, MPI_Group world, unsigned char* bits) {
  MPI_Group group;
  int n;
  MPI_Comm_group(comm, &group);
  MPI_Group_size(group, &n);
  int *from = malloc(sizeof(int) * (size_t)n), *to = malloc(sizeof(int) * (size_t)n);
  for (int i = 0; i < n; ++i) from[i] = i;
  MPI_Group_translate_ranks(group, n, from, world, to);
  for (int i = 0; i < n; ++i) bits[to[i] / 8] |= (unsigned char)(1 << to[i] % 8);
  free(from);
  free(to);
  MPI_Group_free(&group);
}

static unsigned long hash(const unsigned char* bits) {
  unsigned long h = 1469598103934665603ul, word;
  for (size_t i = 0; i < width; i += sizeof word) {
    memcpy(&word, bits + i, sizeof word);
    h = (h ^ word) * 0x9e3779b97f4a7c15ul;
    h ^= h >> 32;
  }
  return h;
}

/* Adds the definitions of `other` that are not in `mine`; table[i]: where other's i-th is. */
static void merge(struct list* mine, const struct list* other, int* table) {
  const size_t most = mine->count + other->count;
  size_t places = 16;
  while (places < 2 * most) places *= 2;
  int* at = malloc(places * sizeof(int));
  unsigned char* taken = calloc(most, 1);
  memset(at, -1, places * sizeof(int));
  mine->bits = realloc(mine->bits, most * width);
  for (size_t i = 0; i < mine->count; ++i) {
    size_t p = hash(mine->bits + i * width) & (places - 1);
    while (at[p] >= 0) p = (p + 1) & (places - 1);
    at[p] = (int)i;
  }
  for (size_t i = 0; i < other->count; ++i) {
    const unsigned char* bits = other->bits + i * width;
    size_t p = hash(bits) & (places - 1);
    while (at[p] >= 0 &&
           (taken[at[p]] || memcmp(mine->bits + (size_t)at[p] * width, bits, width) != 0))
      p = (p + 1) & (places - 1);
    if (at[p] < 0) {
      memcpy(mine->bits + mine->count * width, bits, width);
      at[p] = (int)mine->count++;
    }
    taken[at[p]] = 1;
    table[i] = at[p];
  }
  free(at);
  free(taken);
}

/* Sends and receives of more than 2 GB in parts. */
static void send_bits(const struct list* l, int to) {
  const size_t part = (size_t)1 << 28, all = l->count * width;
  const unsigned long count = l->count;
  MPI_Send(&count, 1, MPI_UNSIGNED_LONG, to, 1, MPI_COMM_WORLD);
  for (size_t i = 0; i < all; i += part)
    MPI_Send(l->bits + i, (int)(all - i < part ? all - i : part), MPI_BYTE, to, 2, MPI_COMM_WORLD);
}

static struct list receive_bits(int from) {
  unsigned long count;
  MPI_Recv(&count, 1, MPI_UNSIGNED_LONG, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const size_t part = (size_t)1 << 28, all = count * width;
  struct list l = {malloc(all ? all : 1), count};
  for (size_t i = 0; i < all; i += part)
    MPI_Recv(l.bits + i, (int)(all - i < part ? all - i : part), MPI_BYTE, from, 2, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  return l;
}

/* Up a binomial tree, and the tables down again. Returns how many definitions the root has. */
static size_t unify(struct list* mine) {
  int* tables[32];
  size_t counts[32];
  int children[32], n = 0, bit = 1;
  for (; bit < size && !(rank & bit); bit *= 2) {
    if (rank + bit >= size) continue;
    struct list other = receive_bits(rank + bit);
    tables[n] = malloc(sizeof(int) * (other.count ? other.count : 1));
    counts[n] = other.count;
    children[n] = rank + bit;
    merge(mine, &other, tables[n++]);
    free(other.bits);
  }
  int* global = malloc(sizeof(int) * (mine->count ? mine->count : 1));
  if (rank) {
    send_bits(mine, rank - bit);
    free(mine->bits); /* or all ranks together would hold a list for each level of the tree */
    mine->bits = NULL;
    MPI_Recv(global, (int)mine->count, MPI_INT, rank - bit, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (size_t i = 0; i < mine->count; ++i) global[i] = (int)i;
  }
  while (n-- > 0) {
    for (size_t i = 0; i < counts[n]; ++i) tables[n][i] = global[tables[n][i]];
    MPI_Send(tables[n], (int)counts[n], MPI_INT, children[n], 3, MPI_COMM_WORLD);
    free(tables[n]);
  }
  free(global);
  return mine->count;
}

/* Seconds from the first rank's `start` until all ranks have come here: ranks of a process leave a
 * barrier one by one. */
static double since_first(double start) {
  double times[2] = {-start, MPI_Wtime()}, latest[2];
  MPI_Allreduce(times, latest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return latest[1] + latest[0];
}

/* Of this thread: the other processes of MPICH spin meanwhile. */
static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void measure_translation(void) {
  MPI_Comm dup, shuffled;
  MPI_Group world, groups[2];
  const unsigned key = ((unsigned)rank ^ 61) * 2654435761u;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (int)(key >> 1), &shuffled);
  MPI_Comm_group(dup, &groups[0]);
  MPI_Comm_group(shuffled, &groups[1]);
  for (int g = 0; g < 2 && rank == 0; ++g)
    for (int step = 0; step <= 4; ++step) {
      int from = (int)((long)(size - 1) * step / 4), to, loops = 0;
      double start = processor_time(), now;
      do {
        for (int i = 0; i < 100; ++i) MPI_Group_translate_ranks(groups[g], 1, &from, world, &to);
        loops += 100;
        now = processor_time();
      } while (now - start < 0.05);
      printf("%d ranks, %s: rank %d: %.1f ns\n", size, g ? "shuffled world" : "duplicate of world",
             from, (now - start) / loops * 1e9);
    }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Comm comms[kComms];
  MPI_Group world;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "translate") == 0) {
    measure_translation();
    MPI_Finalize();
    return 0;
  }
  width = ((size_t)size + 63) / 64 * sizeof(unsigned long);
  comms[0] = MPI_COMM_WORLD;
  comms[1] = MPI_COMM_SELF;
  for (int i = 0; i < kDups; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[2 + i]);
  for (int i = 0; i < kSelves; ++i) MPI_Comm_dup(MPI_COMM_SELF, &comms[2 + kDups + i]);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  struct list mine = {calloc(kComms, width), kComms};
  for (int i = 0; i < kComms; ++i) set_bits(comms[i], world, mine.bits + (size_t)i * width);
  const double tracked = since_first(start);
  const double again = MPI_Wtime();
  const size_t definitions = unify(&mine);
  const double unified = since_first(again);
  if (rank == 0)
    printf(
        "original, %d ranks: tracking %.3f s, unification %.3f s, %zu definitions of %zu bytes: "
        "%zu bytes\n",
        size, tracked, unified, definitions, width, definitions * width);
  MPI_Finalize();
  return 0;
}
