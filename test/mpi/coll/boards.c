/* Barriers, broadcasts and allreduces of few bytes on several communicators in turn, which have
 * boards where their processes are on one host: far more broadcasts in a row than a board holds,
 * roots that change, lengths on either side of what a board takes, communicators that come and go,
 * messages in between. */
#include <stdlib.h>
#include <string.h>

#include "mpitest.h"

enum { kComms = 4, kLongest = 200 };

static unsigned state = 12345;
static unsigned draw(unsigned below) {
  state = state * 1103515245u + 12345u;
  return (state >> 8) % below;
}

static int value_of(int round, int rank, int i) { return round * 31 + rank * 7 + i; }

static void broadcast(MPI_Comm comm, int round, int root, int ints) {
  int rank, data[kLongest];
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < ints; i++) data[i] = rank == root ? value_of(round, root, i) : -1;
  OK(MPI_Bcast(data, ints, MPI_INT, root, comm));
  for (int i = 0; i < ints; i++) CHECK(data[i] == value_of(round, root, i));
}

static void reduce_all(MPI_Comm comm, int round, int ints, int in_place) {
  int rank, size, in[kLongest * 2], out[kLongest * 2];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < ints; i++) in[i] = out[i] = value_of(round, rank, i);
  OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, ints, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < ints; i++)
    CHECK(out[i] == size * value_of(round, 0, i) + 7 * (size * (size - 1) / 2));
}

/* One collective that the same draws make at all members. */
static void any_collective(MPI_Comm comm, int round) {
  static const int lengths[] = {0, 1, 2, 10, 11, 100}, sums[] = {0, 1, 12, 13, 256, 257};
  int size;
  MPI_Comm_size(comm, &size);
  const unsigned kind = draw(4), length = draw(6), root = draw(1000);
  if (kind == 0)
    OK(MPI_Barrier(comm));
  else if (kind < 3)
    broadcast(comm, round, (int)root % size, lengths[length]);
  else
    reduce_all(comm, round, sums[length], root % 2 == 0);
}

static void in_turn(void) {
  int rank, size;
  MPI_Comm comms[kComms];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]));
  OK(MPI_Comm_dup(comms[2], &comms[3]));
  for (int round = 0; round < 400; round++) {
    const unsigned which = draw(kComms);
    any_collective(comms[which], round);
    if (round % 16 == 3) {
      int out = round, in = -1;
      OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 5, &in, 1, MPI_INT,
                      (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(in == round);
    }
    if (round % 50 == 20) {
      MPI_Request request;
      int one = 1, all = 0;
      OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, comms[0], &request));
      any_collective(comms[0], round);
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(all == size);
    }
  }
  for (int i = 0; i < kComms; i++) OK(MPI_Comm_free(&comms[i]));
}

/* The root is far ahead; then each rank is the root of some in a row. */
static void many_in_a_row(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 700; i++) broadcast(MPI_COMM_WORLD, i, 0, 1 + i % 10);
  for (int root = 0; root < size; root++)
    for (int i = 0; i < 300 / size + 1; i++) broadcast(MPI_COMM_WORLD, i, root, 2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void come_and_go(void) {
  for (int turn = 0; turn < 12; turn++) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 12; i++) any_collective(comm, turn * 100 + i);
    OK(MPI_Comm_free(&comm));
  }
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  in_turn();
  many_in_a_row();
  come_and_go();
  return finish();
}
