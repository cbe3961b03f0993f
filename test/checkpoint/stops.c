/* Stops at random moments, while ranks wait in every kind of call: for messages, in collectives of overlapping
 * communicators, for messages of ranks that are not in the collective that others wait in, and in calls that make
 * communicators of some ranks. Runs for a second and a half.
 *   stops [STOPS]     and goes on until so many stops have fallen into it */
#include <stdint.h>
#include <time.h>

#include "checkpoint.h"

/* Of the layer, where it is there. */
extern uint64_t fgmpi_times_made_anew(void) __attribute__((weak));

enum { kLarge = 30000 };

static int to, from, round_number;
static int *large, *got;

/* Some ranks are late now and then. */
static void dawdle(void) {
  struct timespec time = {0, 300000};
  if ((round_number * 7 + rank) % 5 == 0) nanosleep(&time, NULL);
}

static void rings(MPI_Comm comm) {
  MPI_Status status;
  MPI_Request requests[2];
  int value = rank * 1000 + round_number, other = -1, i;
  dawdle();
  /* Large sends wait for their receivers. */
  if (rank % 2 && size > 1) {
    MPI_Send(large, kLarge, MPI_INT, to, 1, comm);
    MPI_Recv(got, kLarge, MPI_INT, from, 1, comm, &status);
  } else {
    MPI_Irecv(got, kLarge, MPI_INT, from, 1, comm, &requests[0]);
    MPI_Isend(large, kLarge, MPI_INT, to, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (i = 0; i < kLarge; i += 1000) CHECK(got[i] == from + i);
  MPI_Sendrecv(&value, 1, MPI_INT, to, 2, &other, 1, MPI_INT, from, 2, comm, &status);
  CHECK(other == from * 1000 + round_number && status.MPI_SOURCE == from);
  MPI_Sendrecv_replace(&other, 1, MPI_INT, to, 3, from, 3, comm, &status);
  CHECK(other == (from + size - 1) % size * 1000 + round_number);
}

/* A token goes around, so that most ranks wait in MPI_Probe. */
static void token(MPI_Comm comm) {
  MPI_Message message;
  int n = 0;
  if (rank == 0) {
    MPI_Request request;
    MPI_Issend(&n, 1, MPI_INT, to, 4, comm, &request);
    MPI_Mprobe(from, 4, comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&n, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(n == size - 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Probe(MPI_ANY_SOURCE, 4, comm, MPI_STATUS_IGNORE);
    MPI_Recv(&n, 1, MPI_INT, from, 4, comm, MPI_STATUS_IGNORE);
    dawdle();
    ++n;
    MPI_Ssend(&n, 1, MPI_INT, to, 4, comm);
  }
}

/* A rank of the collective waits for a message of one that is not in it. */
static void needs_others(MPI_Comm half, MPI_Comm comm) {
  int sum = -1, one = 1, n;
  MPI_Comm_size(half, &n);
  if (rank == 0 && size > 1) MPI_Recv(&sum, 1, MPI_INT, 1, 5, comm, MPI_STATUS_IGNORE);
  dawdle();
  if (rank == 1) MPI_Send(&one, 1, MPI_INT, 0, 5, comm);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
  CHECK(sum == n);
}

static void collectives(MPI_Comm comm) {
  int value = rank == round_number % size ? round_number : -1, sum = -1, sums = -1, all = -1;
  MPI_Request request, persistent;
  dawdle();
  MPI_Bcast(&value, 1, MPI_INT, round_number % size, comm);
  CHECK(value == round_number);
  MPI_Allreduce_init(&rank, &sums, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Start(&persistent);
  dawdle();
  MPI_Reduce(&rank, &all, 1, MPI_INT, MPI_SUM, 0, comm);
  MPI_Barrier(comm);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&persistent);
  CHECK(sum == size * (size - 1) / 2 && sums == sum && (rank > 0 || all == sum));
}

/* Communicators of ranks, made and freed by some while others do something else. */
static void creations(MPI_Comm comm, MPI_Comm half) {
  MPI_Comm pair, twin;
  MPI_Group all, two;
  int members[2] = {rank / 2 * 2, rank / 2 * 2 + 1}, n = size > members[1] ? 2 : 1, sum = -1,
      one = 1;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, n, members, &two);
  dawdle();
  MPI_Comm_create_group(comm, two, 6, &pair);
  MPI_Comm_dup(half, &twin);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair);
  CHECK(sum == n);
  MPI_Barrier(twin);
  MPI_Comm_free(&pair);
  MPI_Group_free(&two);
  MPI_Group_free(&all);
  MPI_Comm_free(&twin);
}

int main(int argc, char** argv) {
  MPI_Comm half;
  const double begin = (start(&argc, &argv), MPI_Wtime());
  const uint64_t least = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  int i, goes_on = 1;
  CHECK(least == 0 || fgmpi_times_made_anew);
  to = (rank + 1) % size;
  from = (rank + size - 1) % size;
  large = malloc(kLarge * sizeof(int));
  got = malloc(kLarge * sizeof(int));
  for (i = 0; i < kLarge; ++i) large[i] = rank + i;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  while (goes_on) {
    rings(MPI_COMM_WORLD);
    token(MPI_COMM_WORLD);
    needs_others(half, MPI_COMM_WORLD);
    collectives(MPI_COMM_WORLD);
    creations(MPI_COMM_WORLD, half);
    ++round_number;
    goes_on = MPI_Wtime() - begin < 1.5 || (least > 0 && fgmpi_times_made_anew() < least);
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&half);
  free(large);
  free(got);
  return finish();
}
