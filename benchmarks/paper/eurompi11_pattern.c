/* A program for the figures of "Scaling Performance Tool MPI Communicator Management" (EuroMPI
 * 2011): makes the communicators, then runs time steps, and prints how long a step took.
 *   eurompi11_pattern pflotran|irregular [STEPS]
 * pflotran: 18 duplicates of world and 4 of self, as PFLOTRAN (section 1). irregular: splits into
 * 16 by a hash of the rank, with keys in another order, and each of these into 4 again: groups that
 * no rule describes. A step: messages to the next rank and to the one half the world away, and an
 * allreduce, on one of the communicators. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned hash(unsigned x) {
  x = (x ^ 61) * 2654435761u;
  return x ^ x >> 15;
}

static void exchange(MPI_Comm comm, int rank, int size, int distance) {
  int out = rank, in = -1;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - distance) % size, 1, comm, &request);
  MPI_Send(&out, 1, MPI_INT, (rank + distance) % size, 1, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (in != (rank + size - distance) % size) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void irregular(MPI_Comm* comms, int* made, int rank) {
  for (int i = 0; i < 4; ++i) {
    MPI_Comm sixteenth, part;
    const unsigned h = hash((unsigned)rank + 1000003u * (unsigned)i);
    MPI_Comm_split(MPI_COMM_WORLD, (int)(h % 16), (int)(h >> 8 & 0xffff), &sixteenth);
    MPI_Comm_split(sixteenth, (int)(h >> 4 & 3), rank, &part);
    comms[(*made)++] = sixteenth;
    comms[(*made)++] = part;
  }
}

int main(int argc, char** argv) {
  int rank, size, made = 0;
  MPI_Comm comms[18], selves[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = argc > 2 ? atoi(argv[2]) : 10;
  const int pflotran = argc < 2 || strcmp(argv[1], "irregular") != 0;
  double start = MPI_Wtime();
  if (pflotran)
    while (made < 18) MPI_Comm_dup(MPI_COMM_WORLD, &comms[made++]);
  else
    irregular(comms, &made, rank);
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_SELF, &selves[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double created = MPI_Wtime() - start;
  start = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    const MPI_Comm comm = comms[step % made];
    int r, n, value = 1, sum = 0;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    exchange(comm, r, n, 1);
    exchange(comm, r, n, n / 2);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != n) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double ran = MPI_Wtime() - start;
  if (rank == 0)
    printf("%s, %d ranks: creation %.3f s, a step %.6f s\n", pflotran ? "pflotran" : "irregular",
           size, created, steps ? ran / steps : 0.0);
  MPI_Finalize();
  return 0;
}
