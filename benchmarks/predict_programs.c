/* Programs for the validation of mpiexec -predict: the patterns of messages of common applications.
 *
 *   predict_programs PROGRAM [SCALE]
 *
 * Computing is known work: a rank sleeps for as long as it would compute, so that hosts that share
 * the cores of one machine do not wait for each other. With PREDICT_PROGRAMS_BLOCK in the
 * environment it does so by a system call: the library, which would go on while a rank sleeps, stands
 * still as beside computing. SCALE multiplies the number of steps. Rank 0
 * prints the seconds from a common start (predict_start.h) to the end of the last rank. Each program
 * checks what it receives. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "predict_start.h"

static int rank, size, wrong, blocks;
static char *out, *in;
enum { ROOM = 8 << 20 };

/* Computes for so many microseconds. */
static void work(double us) {
  struct timespec t = {(time_t)(us / 1e6), 0};
  t.tv_nsec = (long)((us - 1e6 * (double)t.tv_sec) * 1e3);
  if (blocks)
    syscall(SYS_nanosleep, &t, NULL);
  else
    nanosleep(&t, NULL);
}
/* What different ranks compute in different steps: 0 to 1, the same in each run. */
static double noise(unsigned a, unsigned b) {
  unsigned long long x = a * 0x9e3779b97f4a7c15ull + b * 0xbf58476d1ce4e5b9ull + 1;
  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull, x ^= x >> 31;
  return (double)(x >> 11) / 9007199254740992.0;
}
static void fill(char* buffer, int bytes, int value) {
  memset(buffer, value & 0x7f, (size_t)bytes);
}
static void expect(const char* buffer, int bytes, int value) {
  if (bytes && (buffer[0] != (value & 0x7f) || buffer[bytes - 1] != (value & 0x7f))) wrong = 1;
}

/* Blocks travel around a ring. */
static void ring(int steps) {
  const int bytes = 72 << 10, right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int s = 0; s < 16 * steps; ++s) {
    fill(out, bytes, rank + s);
    MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(in, bytes, left + s);
    work(15000);
  }
}
/* Exchanges with four neighbours on a grid, a sum over all ranks every fourth step. */
static void stencil(int steps) {
  const int bytes = 36 << 10, room = bytes;
  int dims[2] = {0, 0}, periods[2] = {1, 1}, peers[4];
  MPI_Comm grid;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &peers[0], &peers[1]);
  MPI_Cart_shift(grid, 1, 1, &peers[2], &peers[3]);
  for (int s = 0; s < 8 * steps; ++s) {
    MPI_Request requests[8];
    double sum = 1, all = 0;
    for (int i = 0; i < 4; ++i)
      MPI_Irecv(in + i * room, bytes, MPI_CHAR, peers[i], i ^ 1, grid, &requests[i]);
    for (int i = 0; i < 4; ++i) {
      fill(out + i * room, bytes, rank + s);
      MPI_Isend(out + i * room, bytes, MPI_CHAR, peers[i], i, grid, &requests[4 + i]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; ++i) expect(in + i * room, bytes, peers[i] + s);
    work(40000 + 20000 * noise((unsigned)rank, (unsigned)s));
    if (s % 4 == 3) MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
    if (s % 4 == 3 && all != size) wrong = 1;
  }
  MPI_Comm_free(&grid);
}
/* A conjugate gradient: the vector is gathered, two sums a step. */
static void gradient(int steps) {
  const int bytes = 18 << 10;
  for (int s = 0; s < 4 * steps; ++s) {
    double sum = 1, all = 0;
    fill(out, bytes, rank + s);
    MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(in + i * bytes, bytes, i + s);
    work(75000);
    for (int i = 0; i < 2; ++i) {
      MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      work(10000);
    }
    if (all != size) wrong = 1;
  }
}
/* Transposes of a matrix: all-to-all, and work between. */
static void transpose(int steps) {
  const int bytes = 12 << 10;
  for (int s = 0; s < 3 * steps; ++s) {
    for (int i = 0; i < size; ++i) fill(out + i * bytes, bytes, rank + 3 * i + s);
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(in + i * bytes, bytes, i + 3 * rank + s);
    work(100000);
  }
}
/* Samples go to rank 0, splitters come back, then each rank has other amounts for each. */
static void sample_sort(int steps) {
  int *counts = calloc((size_t)size * 4, sizeof *counts), *places = counts + size;
  int *received = places + size, *begins = received + size;
  for (int s = 0; s < 3 * steps; ++s) {
    const int sample = 3 << 10;
    work(50000 + 25000 * noise((unsigned)rank, (unsigned)s));
    fill(out, sample, rank);
    MPI_Gather(out, sample, MPI_CHAR, in, sample, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) work(20000);
    MPI_Bcast(out, sample, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0, at = 0, from = 0; i < size; ++i) {
      counts[i] = 3072 + (int)(24576 * noise((unsigned)(rank * size + i), (unsigned)s));
      received[i] = 3072 + (int)(24576 * noise((unsigned)(i * size + rank), (unsigned)s));
      places[i] = at, begins[i] = from;
      at += counts[i], from += received[i];
      fill(out + places[i], counts[i], rank + i);
    }
    MPI_Alltoallv(out, counts, places, MPI_CHAR, in, received, begins, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(in + begins[i], received[i], rank + i);
    work(60000);
  }
  free(counts);
}
/* Rank 0 gives tasks to whoever is free. */
static void farm(int steps) {
  const int tasks = 5 * steps * (size - 1), question = 6 << 10, answer = 24 << 10;
  if (rank == 0) {
    MPI_Status status;
    int given = 0;
    for (int i = 1; i < size; ++i) {
      *(int*)out = given++;
      MPI_Send(out, question, MPI_CHAR, i, 1, MPI_COMM_WORLD);
    }
    for (int done = 0; done < tasks; ++done) {
      MPI_Recv(in, answer, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
      *(int*)out = given < tasks ? given++ : -1;
      MPI_Send(out, question, MPI_CHAR, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    return;
  }
  for (;;) {
    MPI_Recv(in, question, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (*(int*)in < 0) return;
    work(100000 + 300000 * noise((unsigned)*(int*)in, 3));
    MPI_Send(out, answer, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
}
/* Messages between all pairs, all at a time. */
static void all_to_all(int steps) {
  const int bytes = 9 << 10;
  MPI_Request* requests = calloc((size_t)size * 2, sizeof *requests);
  for (int s = 0; s < 3 * steps; ++s) {
    int n = 0;
    for (int i = 1; i < size; ++i) {
      const int from = (rank + size - i) % size;
      MPI_Irecv(in + from * bytes, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, &requests[n++]);
    }
    fill(out, bytes, rank + s);
    for (int i = 1; i < size; ++i)
      MPI_Isend(out, bytes, MPI_CHAR, (rank + i) % size, 0, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; ++i)
      if (i != rank) expect(in + i * bytes, bytes, i + s);
    work(25000);
  }
  free(requests);
}
/* Sums of long vectors, at all ranks and at one. */
static void reductions(int steps) {
  const int count = 12 << 10;
  double *vector = (double*)out, *sum = (double*)in;
  for (int s = 0; s < 2 * steps; ++s) {
    for (int i = 0; i < count; ++i) vector[i] = i % 7;
    MPI_Allreduce(vector, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      if (sum[i] != size * (i % 7)) wrong = 1;
    work(50000);
    MPI_Reduce(vector, sum, count, MPI_DOUBLE, MPI_SUM, s % size, MPI_COMM_WORLD);
    MPI_Bcast(vector, count / 2, MPI_DOUBLE, s % size, MPI_COMM_WORLD);
  }
}
/* A wave goes through a grid from one corner to the other, block after block. */
static void sweep(int steps) {
  const int bytes = 24 << 10, blocks = 6;
  int dims[2] = {0, 0}, periods[2] = {0, 0}, up, down, left, right;
  MPI_Comm grid;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  for (int s = 0; s < steps; ++s)
    for (int b = 0; b < blocks; ++b) {
      MPI_Recv(in, bytes, MPI_CHAR, up, 0, grid, MPI_STATUS_IGNORE);
      if (up >= 0) expect(in, bytes, up + b);
      MPI_Recv(in, bytes, MPI_CHAR, left, 0, grid, MPI_STATUS_IGNORE);
      if (left >= 0) expect(in, bytes, left + b);
      work(30000);
      fill(out, bytes, rank + b);
      MPI_Send(out, bytes, MPI_CHAR, down, 0, grid);
      MPI_Send(out, bytes, MPI_CHAR, right, 0, grid);
    }
  MPI_Comm_free(&grid);
}
/* Long messages move, or not, while their ranks compute. */
static void overlap(int steps) {
  const int bytes = 600 << 10, right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int s = 0; s < 2 * steps; ++s) {
    MPI_Request requests[2];
    MPI_Irecv(in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    fill(out, bytes, rank + s);
    MPI_Isend(out, bytes, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[1]);
    work(250000);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(in, bytes, left + s);
    work(25000);
  }
}

static const struct {
  const char* name;
  void (*run)(int steps);
} programs[] = {{"ring", ring},
                {"stencil", stencil},
                {"gradient", gradient},
                {"transpose", transpose},
                {"sample_sort", sample_sort},
                {"farm", farm},
                {"all_to_all", all_to_all},
                {"reductions", reductions},
                {"sweep", sweep},
                {"overlap", overlap}};

int main(int argc, char** argv) {
  enum { PROGRAMS = sizeof programs / sizeof *programs };
  int scale = argc > 2 ? atoi(argv[2]) : 1, any = 0, which = 0;
  double begin, seconds[2], longest[2];
  blocks = getenv("PREDICT_PROGRAMS_BLOCK") != NULL;
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* sleeps are as long as they are asked to be */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  while (which < PROGRAMS && (argc < 2 || strcmp(argv[1], programs[which].name))) ++which;
  if (which == PROGRAMS) {
    for (int i = 0; i < PROGRAMS && !rank; ++i) fprintf(stderr, "%s ", programs[i].name);
    if (!rank) fprintf(stderr, "are the programs\n");
    MPI_Finalize();
    return 2;
  }
  out = calloc(1, ROOM), in = calloc(1, ROOM);
  begin = start_together();
  seconds[1] = waited_for_cores();
  programs[which].run(scale);
  seconds[0] = MPI_Wtime() - begin;
  seconds[1] = waited_for_cores() - seconds[1];
  MPI_Reduce(seconds, longest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (!rank) printf("%s %d ranks %.6f s%s\n", argv[1], size, longest[0], any ? " WRONG" : "");
  if (!rank) printf("no core for %.6f s\n", longest[1]);
  MPI_Finalize();
  return any;
}
