/* Traffic between processes, checked byte by byte, and jobs for a script to disturb.
 *   traffic [mix [ROUNDS [SEED]]]  random sizes from 0 to 8 MB between all pairs (default: mix, few
 *                                  rounds)
 *   traffic stream             the same for ever
 *   traffic wait               every rank has talked to every other; all wait for a message of the
 *                              last, which never comes
 *   traffic idle [SECONDS]     all wait for rank 0, which sleeps; prints the CPU time that this
 *                              cost
 *   traffic large [MEGABYTES]  one message of that size from rank 0 to the last rank
 *   traffic crowd              every rank sends to the first rank of every process at once
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int rank, size;
static uint64_t seed; /* of the sizes */

static uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return x ^ x >> 33;
}

/* Sizes of all scales; one message in 40 is of megabytes. */
static size_t size_of(int round, int from, int to, size_t most) {
  uint64_t h = mix(mix(round * 1000003ull + from + seed * 0x9e3779b97f4a7c15ull) * 31 + to);
  size_t scale = h % 40 == 0 ? most : h % 4 == 0 ? 100000 : h % 4 == 1 ? 5000 : 100;
  return (h >> 20) % ((scale < most ? scale : most) + 1);
}

static void fill(unsigned char* b, size_t n, uint64_t seed) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t w = mix(seed + i);
    memcpy(b + i, &w, 8);
  }
  for (; i < n; ++i) b[i] = (unsigned char)mix(seed + i);
}

static void check(const unsigned char* b, size_t n, uint64_t seed, int from) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t w = mix(seed + i);
    if (memcmp(b + i, &w, 8)) break;
  }
  for (; i < n; ++i) {
    if (b[i] == (unsigned char)(i + 8 <= n ? mix(seed + i / 8 * 8) >> 8 * (i % 8) : mix(seed + i)))
      continue;
    printf("rank %d: byte %zu of %zu from rank %d is wrong\n", rank, i, n, from);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static void mixed(int rounds, size_t most) {
  unsigned char* out = malloc(most);
  unsigned char* in = malloc(most);
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 4);
  for (int round = 0; round < rounds; ++round) {
    int shift = 1 + round % size;
    int to = (rank + shift) % size, from = (rank + size - shift % size) % size;
    size_t n = size_of(round, rank, to, most), m = size_of(round, from, rank, most);
    MPI_Request request;
    fill(out, n, mix(round) + rank);
    memset(in, 0, m < 64 ? m : 64);
    MPI_Isend(out, (int)n, MPI_BYTE, to, round & 0x7fff, MPI_COMM_WORLD, &request);
    MPI_Status status;
    MPI_Recv(in, (int)most, MPI_BYTE, from, round & 0x7fff, MPI_COMM_WORLD, &status);
    int got;
    MPI_Get_count(&status, MPI_BYTE, &got);
    if ((size_t)got != m) {
      printf("rank %d: %d bytes from rank %d instead of %zu\n", rank, got, from, m);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    check(in, m, mix(round) + from, from);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
}

static void say_ready(void) {
  mixed(size, 100);
  if (rank == 0) printf("ready\n");
  fflush(stdout);
}

/* All wait for the last rank, which only looks for messages: were it to wait too, that would be a
 * deadlock. */
static void wait_for_ever(void) {
  say_ready();
  char byte;
  if (rank != size - 1)
    MPI_Recv(&byte, 1, MPI_BYTE, size - 1, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int there = 0; !there; usleep(10000))
    MPI_Iprobe(0, 999, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

static double cpu_seconds(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void idle(int seconds) {
  char byte = 0;
  mixed(size, 100);
  double before = cpu_seconds();
  if (rank == 0) {
    usleep(seconds * 1000000u);
    for (int r = 1; r < size; ++r) MPI_Send(&byte, 1, MPI_BYTE, r, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&byte, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  double used = cpu_seconds() - before;
  if (rank == 0 || rank == size - 1)
    printf("rank %d: %.3f s of CPU in %d s of waiting\n", rank, used, seconds);
  if (used > 0.02 * seconds + 0.05) MPI_Abort(MPI_COMM_WORLD, 5);
}

static void large(size_t bytes) {
  int pieces = (int)(bytes >> 20);
  MPI_Datatype megabyte;
  MPI_Type_contiguous(1 << 20, MPI_BYTE, &megabyte);
  MPI_Type_commit(&megabyte);
  if (rank == 0 || rank == size - 1) {
    unsigned char* b = malloc(bytes);
    if (!b) MPI_Abort(MPI_COMM_WORLD, 4);
    double start = MPI_Wtime();
    if (rank == 0) {
      fill(b, bytes, 77);
      start = MPI_Wtime();
      MPI_Send(b, pieces, megabyte, size - 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(b, pieces, megabyte, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(b, bytes, 77, 0);
    }
    if (rank == 0) printf("%zu bytes in %.2f s\n", bytes, MPI_Wtime() - start);
    free(b);
  }
  MPI_Type_free(&megabyte);
}

/* Needs no collective: how many ranks a process has is the same for all here. */
static void crowd(void) {
  const char* text = getenv("FGMPI_NFG");
  int each = text ? atoi(text) : 1, processes = size / each, me = rank / each * each == rank;
  MPI_Request* requests = malloc(processes * sizeof *requests);
  for (int p = 0; p < processes; ++p)
    MPI_Isend(&rank, 1, MPI_INT, p * each, 5, MPI_COMM_WORLD, &requests[p]);
  if (me) {
    char* seen = calloc(size, 1);
    for (int i = 0; i < size; ++i) {
      int from = -1;
      MPI_Status status;
      MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
      if (from != status.MPI_SOURCE || seen[from]++) {
        printf("rank %d: a message of rank %d came twice or from another\n", rank, from);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
    free(seen);
  }
  MPI_Waitall(processes, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "mix";
  int number = argc > 2 ? atoi(argv[2]) : -1;
  seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  if (!strcmp(what, "mix"))
    mixed(number > 0 ? number : 40, 8 << 20);
  else if (!strcmp(what, "stream"))
    say_ready(), mixed(1 << 30, 8 << 20);
  else if (!strcmp(what, "wait"))
    wait_for_ever();
  else if (!strcmp(what, "idle"))
    idle(number > 0 ? number : 10);
  else if (!strcmp(what, "large"))
    large((size_t)(number > 0 ? number : 4096 + 1) << 20);
  else if (!strcmp(what, "crowd"))
    crowd();
  else
    printf("traffic: unknown mode '%s'; allowed is mix, stream, wait, idle, large or crowd\n",
           what);
  MPI_Finalize();
  return 0;
}
