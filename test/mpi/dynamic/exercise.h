/* What an intercommunicator between two sides must do, whether they are two jobs or parts of one:
 * used by both. */
#ifndef FGMPI_TEST_DYNAMIC_EXERCISE_H
#define FGMPI_TEST_DYNAMIC_EXERCISE_H

#include <string.h>

#include "mpitest.h"

/* Each rank and each rank of the other side swap a message; `side` is 0 or 1, the same on a
 * side. */
static void pairs(MPI_Comm inter, int side) {
  int rank, size, remote;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  int* got = malloc(sizeof(int) * 3 * (size_t)remote);
  int mine[3] = {side, rank, 4711};
  MPI_Request* r = malloc(sizeof(MPI_Request) * 2 * (size_t)remote);
  for (int i = 0; i < remote; ++i) {
    OK(MPI_Irecv(got + 3 * i, 3, MPI_INT, i, 5, inter, &r[2 * i]));
    OK(MPI_Isend(mine, 3, MPI_INT, i, 5, inter, &r[2 * i + 1]));
  }
  OK(MPI_Waitall(2 * remote, r, MPI_STATUSES_IGNORE));
  for (int i = 0; i < remote; ++i)
    CHECK(got[3 * i] == 1 - side && got[3 * i + 1] == i && got[3 * i + 2] == 4711);
  free(r);
  free(got);
}

/* Long messages, both ways at once, wildcards, probes, synchronous sends: between ranks of the same
 * number. */
static void long_messages(MPI_Comm inter, int side) {
  int rank, size, remote;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  if (rank >= 3 || rank >= remote || rank >= size) return;
  const int n = 300000 + 17 * rank;
  int *out = malloc(sizeof(int) * (size_t)n), *in = calloc((size_t)n, sizeof(int));
  for (int i = 0; i < n; ++i) out[i] = side * 1000000 + rank * 7 + i;
  MPI_Request r[1];
  MPI_Status s;
  OK(MPI_Isend(out, n, MPI_INT, rank, 1, inter, &r[0]));
  OK(MPI_Probe(MPI_ANY_SOURCE, 1, inter, &s));
  int count;
  OK(MPI_Get_count(&s, MPI_INT, &count));
  CHECK(count == n && s.MPI_SOURCE == rank);
  OK(MPI_Recv(in, n, MPI_INT, MPI_ANY_SOURCE, 1, inter, &s));
  OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) CHECK(in[i] == (1 - side) * 1000000 + rank * 7 + i);
  if (side) {
    OK(MPI_Issend(out, n, MPI_INT, rank, 2, inter, &r[0]));
    OK(MPI_Send(out, 1, MPI_INT, rank, 3, inter));
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Recv(in, 1, MPI_INT, rank, 3, inter, &s)); /* the first is unexpected */
    OK(MPI_Recv(in, n, MPI_INT, rank, 2, inter, &s));
    CHECK(in[n - 1] == 1000000 + rank * 7 + n - 1);
  }
  free(in);
  free(out);
}

static void collectives_between(MPI_Comm inter, int side) {
  int rank, size, remote;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Barrier(inter));
  int sum = -1, mine = rank + 1;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK(sum == remote * (remote + 1) / 2);
  int word[200];
  for (int i = 0; i < 200; ++i) word[i] = side == 0 && rank == 0 ? 3 * i : -1;
  OK(MPI_Bcast(word, 200, MPI_INT, side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter));
  if (side == 1) CHECK(word[199] == 597);
  int* all = malloc(sizeof(int) * (size_t)(remote > 0 ? remote : 1));
  OK(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, inter));
  for (int i = 0; i < remote; ++i) CHECK(all[i] == i + 1);
  free(all);
}

/* An intracommunicator whose members are of both sides; color is the side of each member. */
static void inside(MPI_Comm comm, int side, int low_side, int low_size) {
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  CHECK((rank < low_size) == (side == low_side));
  int mine = 3 * rank + 1, sum;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == 3 * (size * (size - 1) / 2) + size);
  int* all = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm));
  for (int i = 0; i < size; ++i) CHECK(all[i] == 3 * i + 1);
  for (int root = 0; root < size; root += size / 3 + 1) {
    int v = rank == root ? 77 + root : -1;
    OK(MPI_Bcast(&v, 1, MPI_INT, root, comm));
    CHECK(v == 77 + root);
    OK(MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, comm));
    if (rank == root) CHECK(all[size - 1] == 3 * (size - 1) + 1);
  }
  int scan;
  OK(MPI_Scan(&mine, &scan, 1, MPI_INT, MPI_SUM, comm));
  CHECK(scan == 3 * (rank * (rank + 1) / 2) + rank + 1);
  int *to = malloc(sizeof(int) * (size_t)size), *from = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) to[i] = rank * 10000 + i;
  OK(MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, comm));
  for (int i = 0; i < size; ++i) CHECK(from[i] == i * 10000 + rank);
  int next = (rank + 1) % size, before = (rank + size - 1) % size, got = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 9, &got, 1, MPI_INT, before, 9, comm,
                  MPI_STATUS_IGNORE));
  CHECK(got == before);
  free(from);
  free(to);
  free(all);
}

/* Communicators made of one that has members of both sides. */
static void children(MPI_Comm merged, int side) {
  int rank, size, n;
  OK(MPI_Comm_rank(merged, &rank));
  OK(MPI_Comm_size(merged, &size));
  MPI_Comm copy, part, reversed, own, odd, even_odd;
  OK(MPI_Comm_dup(merged, &copy));
  int result;
  OK(MPI_Comm_compare(merged, copy, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_split(copy, rank % 2, 0, &part)); /* members of both sides, in general */
  OK(MPI_Comm_size(part, &n));
  CHECK(n == (rank % 2 ? size / 2 : (size + 1) / 2));
  int sum;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part));
  CHECK(sum == (rank % 2 ? (size / 2) * (size / 2) : ((size + 1) / 2) * ((size + 1) / 2 - 1)));
  OK(MPI_Comm_split(copy, 0, -rank, &reversed));
  int there;
  OK(MPI_Comm_rank(reversed, &there));
  CHECK(there == size - 1 - rank);
  OK(MPI_Barrier(reversed));
  OK(MPI_Comm_split(reversed, side, rank, &own)); /* one side only */
  OK(MPI_Allreduce(&side, &sum, 1, MPI_INT, MPI_SUM, own));
  OK(MPI_Comm_size(own, &n));
  CHECK(sum == n * side);
  MPI_Group all, some;
  OK(MPI_Comm_group(copy, &all));
  int range[1][3] = {{1, size - 1, 2}};
  OK(MPI_Group_range_incl(all, size > 1 ? 1 : 0, range, &some));
  OK(MPI_Comm_create(copy, some, &odd));
  CHECK((odd != MPI_COMM_NULL) == (rank % 2 == 1));
  if (odd != MPI_COMM_NULL) {
    MPI_Comm again;
    OK(MPI_Barrier(odd));
    OK(MPI_Comm_create_group(copy, some, 3, &again));
    OK(MPI_Comm_compare(odd, again, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_free(&again));
    OK(MPI_Comm_free(&odd));
  }
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&all));
  if (size > 1) { /* odd and even ranks: both groups have members of both sides */
    OK(MPI_Intercomm_create(part, 0, merged, 1 - rank % 2, 11, &even_odd));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, even_odd));
    const int odd_max = size % 2 ? size - 2 : size - 1, even_max = size % 2 ? size - 1 : size - 2;
    CHECK(sum == (rank % 2 ? even_max : odd_max));
    MPI_Comm once_more;
    OK(MPI_Intercomm_merge(even_odd, rank % 2, &once_more));
    OK(MPI_Comm_rank(once_more, &there));
    CHECK(there == (rank % 2 ? (size + 1) / 2 : 0) + rank / 2);
    OK(MPI_Barrier(once_more));
    OK(MPI_Comm_free(&once_more));
    OK(MPI_Comm_free(&even_odd));
  }
  MPI_Request r;
  MPI_Comm idup;
  OK(MPI_Comm_idup(merged, &idup, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Ibarrier(idup, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&idup));
  OK(MPI_Comm_free(&own));
  OK(MPI_Comm_free(&reversed));
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_free(&copy));
}

/* All of it; leaves `inter` as it was. */
static void exercise(MPI_Comm inter, int side) {
  int flag, size, remote;
  OK(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  pairs(inter, side);
  long_messages(inter, side);
  collectives_between(inter, side);
  MPI_Comm copy, part, merged, other;
  OK(MPI_Comm_dup(inter, &copy));
  pairs(copy, side);
  int rank;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_split(copy, rank % 2, rank, &part)); /* null where one side has no such rank */
  if (part != MPI_COMM_NULL) {
    pairs(part, side);
    collectives_between(part, side);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Comm_free(&copy));
  OK(MPI_Intercomm_merge(inter, side == 1, &merged));
  inside(merged, side, 0, side == 0 ? size : remote);
  children(merged, side);
  OK(MPI_Intercomm_merge(inter, side == 0, &other));
  inside(other, side, 1, side == 1 ? size : remote);
  OK(MPI_Comm_free(&other));
  OK(MPI_Comm_free(&merged));
}

#endif
