/* HPDC'10 Figure 5: creating communicators of various groups, and messaging in them.
 *
 *   mpiexec -n P -nfg C hpdc10_fig5        the paper: 16 processes of 6,875, a world of 110,000;
 *                                          FGMPI_GROUPMAP=array for the array map to compare with.
 *                                          Any other world scales the groups.
 *
 * Sets (section 8.1), sizes for a world of 110,000:
 *   A1..A3  10,000, 50,000, 100,000 members, a falling stride over the world
 *   B1      100,000: an unordered range of two runs; B2: a range with one rank removed; B3: a range
 *           of ranges
 *   C1..C3  10,000 members, a range and a stride, out of an outer communicator of 20,000, 50,000,
 *           100,000
 * Columns: time to create (slowest rank), 10,000 messages between random pairs, ten gathers to rank
 * 0, how the map is stored, its bytes and those of an array map a process. No variable of the
 * program is global. */
#include <fgmpi.h>
#include <stdio.h>

enum { kMessages = 10000, kGathers = 10 };

typedef struct {
  const char* name;
  char kind;
  int size, outer; /* for a world of 110,000; outer 0: the world */
} Set;

static long scaled(long n, int world) { return n * world / 110000 > 4 ? n * world / 110000 : 4; }

/* Whether the rank w of n is a member of the group of g, and its key. */
static int member(char kind, long w, long n, long g, long* key) {
  *key = w;
  switch (kind) {
    case 'A':
      *key = -w;
      return w % (n / g) == 0 && w / (n / g) < g;
    case '1':
      *key = (w + g / 2) % g;
      return w < g;
    case '2':
      return w != n / 3 && w <= g;
    case '3':
      return w % 11 < 10 && w / 11 * 10 + w % 11 < g;
    default:
      return w < g / 2 || ((w - g / 2) % 2 == 0 && (w - g / 2) / 2 < g - g / 2);
  }
}

static double slowest(double mine, MPI_Comm comm) {
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
  return all;
}

static long inverse(long a, long m) { /* of a modulo m, which have no common factor */
  long r0 = m, r1 = a % m, t0 = 0, t1 = 1;
  while (r1) {
    long q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1, r1 = r, t0 = t1, t1 = t;
  }
  return t0 < 0 ? t0 + m : t0;
}
static long coprime(long a, long m) {
  for (;; ++a) {
    long x = a % m, y = m;
    while (x) {
      long t = y % x;
      y = x, x = t;
    }
    if (y == 1) return a % m;
  }
}

/* Message k goes from (a k) mod g to (c k + 1) mod g: each rank finds its own without walking all
 * of them. */
static double messages(MPI_Comm comm) {
  int r, g;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &g);
  long a = coprime(48271 % g + 1, g), c = coprime(69621 % g + 1, g), ai = inverse(a, g),
       ci = inverse(c, g);
  MPI_Barrier(comm);
  double t = MPI_Wtime();
  int value = r, got;
  for (long k = r * ai % g; k < kMessages; k += g) {
    MPI_Request s;
    MPI_Isend(&value, 1, MPI_INT, (int)((c * k + 1) % g), (int)(k % 1000), comm, &s);
    MPI_Request_free(&s);
  }
  for (long k = ((r - 1 + g) % g) * ci % g; k < kMessages; k += g)
    MPI_Recv(&got, 1, MPI_INT, (int)(a * k % g), (int)(k % 1000), comm, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  return slowest(MPI_Wtime() - t, comm);
}

static double gathers(MPI_Comm comm) {
  int r, g;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &g);
  int* all = NULL;
  if (r == 0) MPI_Alloc_mem((MPI_Aint)sizeof(int) * g, MPI_INFO_NULL, &all);
  MPI_Barrier(comm);
  double t = MPI_Wtime();
  for (int i = 0; i < kGathers; ++i) MPI_Gather(&r, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
  t = slowest(MPI_Wtime() - t, comm);
  for (int i = 0; r == 0 && i < g; ++i)
    if (all[i] != i) MPI_Abort(MPI_COMM_WORLD, 1);
  if (r == 0) MPI_Free_mem(all);
  return t;
}

static void run(const Set* set, int world) {
  MPI_Comm outer, group;
  int w;
  long key, n = set->outer ? scaled(set->outer, world) : world, g = scaled(set->size, world);
  MPI_Comm_rank(MPI_COMM_WORLD, &w);
  MPI_Comm_split(MPI_COMM_WORLD, w < n ? 0 : MPI_UNDEFINED, 0, &outer);
  if (outer != MPI_COMM_NULL) {
    int in = member(set->kind, w, n, g, &key);
    MPI_Barrier(outer);
    double create = MPI_Wtime();
    MPI_Comm_split(outer, in ? 0 : MPI_UNDEFINED, (int)key, &group);
    create = slowest(MPI_Wtime() - create, outer);
    if (in) {
      int r, size;
      double m = messages(group), ten = gathers(group);
      MPIX_Map_info info;
      MPIX_Comm_map_info(group, &info);
      MPI_Comm_rank(group, &r);
      MPI_Comm_size(group, &size);
      if (r == 0)
        printf("%-3s %8ld %8d  %9.2f %9.2f %9.2f   %-14s %-34s %9lld %9lld\n", set->name, n, size,
               create * 1e3, m * 1e3, ten * 1e3, info.model, info.encoding,
               (long long)info.map_bytes, 4LL * size);
      MPI_Comm_free(&group);
    }
    MPI_Comm_free(&outer);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const Set sets[] = {
      {"A1", 'A', 10000, 0},     {"A2", 'A', 50000, 0},     {"A3", 'A', 100000, 0},
      {"B1", '1', 100000, 0},    {"B2", '2', 100000, 0},    {"B3", '3', 100000, 0},
      {"C1", 'C', 10000, 20000}, {"C2", 'C', 10000, 50000}, {"C3", 'C', 10000, 100000}};
  int world, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    printf(
        "set    outer     size  create ms  10^4 msg  10 gather   model          encoding           "
        "                map "
        "bytes  as array\n");
  for (unsigned i = 0; i < sizeof sets / sizeof *sets; ++i) run(&sets[i], world);
  MPI_Finalize();
  return 0;
}
