/* MPIX_Comm_split with MPIX_SYSTEM_RANKED: membership, ranks contiguous in a process, and every
 * kind of call on the result: its own collectives with every root, messages to ranks that are not
 * known yet, calls that need the whole group, groups of groups, many at once, parents freed
 * meanwhile. The algorithm is the environment's. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

static int world_rank, world_size;

/* The same on all ranks: does `rank` take part, with fraction f of 100? */
static int takes_part(int rank, int percent, int seed) {
  unsigned x = (unsigned)rank * 2654435761u + (unsigned)seed * 40503u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return (int)(x % 100) < percent;
}

/* All processes exchange, on the world communicator, which of them has which rank. */
static void check_ranks(MPI_Comm comm, int in, int* world_of) {
  int mine[3] = {-1, -1, -1};
  if (in) {
    OK(MPI_Comm_rank(comm, &mine[0]));
    OK(MPI_Comm_size(comm, &mine[1]));
  }
  OK(MPIX_Get_collocated_startrank(&mine[2]));
  int* all = malloc(sizeof(int) * 3 * world_size);
  OK(MPI_Allgather(mine, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD));
  if (in) {
    for (int i = 0; i < mine[1]; ++i) world_of[i] = -1;
    int members = 0, last_rank = -1, last_process = -1;
    for (int r = 0; r < world_size; ++r) {
      const int* his = all + 3 * r;
      if (his[0] < 0 || his[1] != mine[1]) continue;
      CHECK(his[0] < mine[1] && world_of[his[0]] == -1);
      world_of[his[0]] = r;
      /* Contiguous in a process, and in the order of the parent's ranks. */
      if (his[2] == last_process) CHECK(his[0] == last_rank + 1);
      last_process = his[2];
      last_rank = his[0];
      ++members;
    }
    CHECK(members == mine[1]);
  }
  free(all);
}

static void own_collectives(MPI_Comm comm) {
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Barrier(comm));
  int step = size > 20 ? size / 7 : 1;
  for (int root = 0; root < size; root += step) {
    int value = rank == root ? 1000 + root : -1;
    OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
    CHECK(value == 1000 + root);
    int sum = -1, one = rank + 1;
    OK(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, comm));
    if (rank == root) CHECK(sum == size * (size + 1) / 2);
  }
  int most, mine = rank * 3;
  OK(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, comm));
  CHECK(most == (size - 1) * 3);
  /* Longer than a piece. */
  enum { kLong = 50000 };
  int* data = malloc(sizeof(int) * kLong);
  int* result = malloc(sizeof(int) * kLong);
  for (int i = 0; i < kLong; ++i) data[i] = rank == size / 2 ? i : -1;
  OK(MPI_Bcast(data, kLong, MPI_INT, size / 2, comm));
  for (int i = 0; i < kLong; ++i) CHECK(data[i] == i);
  OK(MPI_Allreduce(data, result, kLong, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < kLong; i += 97) CHECK(result[i] == i * size);
  OK(MPI_Reduce(data, result, kLong, MPI_INT, MPI_SUM, size - 1, comm));
  if (rank == size - 1)
    for (int i = 0; i < kLong; i += 97) CHECK(result[i] == i * size);
  MPI_Request request;
  OK(MPI_Ibarrier(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  free(data);
  free(result);
}

/* Messages to ranks at some distances: the first to each asks where it is. */
static void messages(MPI_Comm comm, const int* world_of) {
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  for (int distance = 1; distance <= size; distance = distance * 2 + 1) {
    int to = (rank + distance) % size, from = (rank + size - distance % size) % size;
    int out = world_rank, in = -1;
    MPI_Status status;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, to, distance, &in, 1, MPI_INT, from, distance, comm,
                    &status));
    CHECK(in == world_of[from] && status.MPI_SOURCE == from);
  }
  MPI_Request requests[2];
  int in = -1;
  OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &requests[0]));
  OK(MPI_Isend(&rank, 1, MPI_INT, size - 1 - rank, 5, comm, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in == size - 1 - rank);
}

/* What needs the whole group. */
static void whole_group(MPI_Comm comm, const int* world_of) {
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  MPI_Group group, world_group;
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world_group));
  for (int i = 0; i < size; ++i) {
    int there;
    OK(MPI_Group_translate_ranks(group, 1, &i, world_group, &there));
    CHECK(there == world_of[i]);
  }
  OK(MPI_Group_free(&world_group));
  int* ranks = malloc(sizeof(int) * size);
  OK(MPI_Allgather(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, comm));
  CHECK(memcmp(ranks, world_of, sizeof(int) * size) == 0);
  int before = -1;
  OK(MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_SUM, comm));
  if (rank > 0) CHECK(before == rank * (rank - 1) / 2);
  MPI_Comm dup, half, again;
  OK(MPI_Comm_dup(comm, &dup));
  int verdict;
  OK(MPI_Comm_compare(comm, dup, &verdict));
  CHECK(verdict == MPI_CONGRUENT);
  OK(MPI_Comm_free(&dup));
  OK(MPI_Comm_split(comm, rank % 2, -rank, &half));
  own_collectives(half);
  OK(MPI_Comm_free(&half));
  /* Ranks of the user's choice: the world's order. */
  OK(MPIX_Comm_split(comm, MPIX_PERMUTE, world_rank, &again));
  int* sorted = malloc(sizeof(int) * size);
  OK(MPI_Allgather(&world_rank, 1, MPI_INT, sorted, 1, MPI_INT, again));
  for (int i = 1; i < size; ++i) CHECK(sorted[i] > sorted[i - 1]);
  OK(MPI_Comm_free(&again));
  OK(MPI_Group_free(&group));
  free(sorted);
  free(ranks);
  own_collectives(comm);
}

static void one_group(int percent, int seed) {
  int in = takes_part(world_rank, percent, seed);
  MPI_Comm comm;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, in ? 3 : MPI_UNDEFINED, MPIX_SYSTEM_RANKED, &comm));
  CHECK((comm != MPI_COMM_NULL) == in);
  int* world_of = malloc(sizeof(int) * world_size);
  check_ranks(comm, in, world_of);
  if (in) {
    MPIX_Map_info info;
    OK(MPIX_Comm_map_info(comm, &info));
    CHECK(info.members > 0);
    own_collectives(comm);
    messages(comm, world_of);
    whole_group(comm, world_of);
    OK(MPI_Comm_free(&comm));
  }
  free(world_of);
}

/* Groups of groups; the parent is freed before the child exists, and while it is used. */
static void nested(void) {
  MPI_Comm parent, child;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, world_rank % 3, MPIX_SYSTEM_RANKED, &parent));
  for (int level = 0; level < 4; ++level) {
    MPI_Request request;
    int rank;
    OK(MPI_Comm_rank(parent, &rank));
    int color = rank % 4 == 3 ? MPI_UNDEFINED : 0;
    OK(MPIX_Comm_isplit_system_ranked(parent, color, MPI_INFO_NULL, &child, &request));
    OK(MPI_Comm_free(&parent));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK((child == MPI_COMM_NULL) == (color == MPI_UNDEFINED));
    if (child == MPI_COMM_NULL) return;
    own_collectives(child);
    parent = child;
  }
  OK(MPI_Comm_free(&parent));
}

/* Many under way at once, beside messages; as many colors as ranks. */
static void many(void) {
  enum { kMany = 12 };
  MPI_Comm comms[kMany];
  MPI_Request requests[kMany + 2];
  int in = -1, to = (world_rank + 1) % world_size,
      from = (world_rank + world_size - 1) % world_size;
  OK(MPI_Irecv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[kMany]));
  for (int i = 0; i < kMany; ++i)
    OK(MPIX_Comm_isplit_system_ranked(MPI_COMM_WORLD, world_rank % (i + 1), MPI_INFO_NULL,
                                      &comms[i], &requests[i]));
  OK(MPI_Isend(&world_rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[kMany + 1]));
  OK(MPI_Waitall(kMany + 2, requests, MPI_STATUSES_IGNORE));
  CHECK(in == from);
  for (int i = 0; i < kMany; ++i) {
    int sum, size;
    OK(MPI_Comm_size(comms[i], &size));
    OK(MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]));
    int expected = 0, members = 0;
    for (int r = world_rank % (i + 1); r < world_size; r += i + 1) expected += r, ++members;
    CHECK(size == members && sum == expected);
    OK(MPI_Comm_free(&comms[i]));
  }
  MPI_Comm alone;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, world_rank, MPIX_SYSTEM_RANKED, &alone));
  int size;
  OK(MPI_Comm_size(alone, &size));
  CHECK(size == 1);
  OK(MPI_Comm_free(&alone));
  OK(MPIX_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, MPIX_SYSTEM_RANKED, &alone));
  CHECK(alone == MPI_COMM_NULL);
}

/* Short-lived ones: context ids are used again, and messages about a freed group are never taken
 * for those of the next one. */
static void short_lived(void) {
  for (int i = 0; i < 60; ++i) {
    MPI_Comm comm;
    int in = takes_part(world_rank, 70, i);
    OK(MPIX_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, MPIX_SYSTEM_RANKED, &comm));
    if (!in) continue;
    int rank, size;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    if (i % 3 == 0) {
      int out = rank, got = -1;
      OK(MPI_Sendrecv(&out, 1, MPI_INT, size - 1 - rank, 1, &got, 1, MPI_INT, size - 1 - rank, 1,
                      comm, MPI_STATUS_IGNORE));
      CHECK(got == size - 1 - rank);
    } else if (i % 3 == 1 && rank % 2 == 0) {
      MPI_Group group;
      OK(MPI_Comm_group(comm, &group));
      int n;
      OK(MPI_Group_size(group, &n));
      CHECK(n == size);
      OK(MPI_Group_free(&group));
    }
    OK(MPI_Comm_free(&comm));
  }
}

/* Duplicates have the same ranks and the same tree; nobody needs to know the group, before or
 * after. */
static void duplicates(void) {
  MPI_Comm comm, copies[4];
  int in = takes_part(world_rank, 60, 5), rank, size, result;
  OK(MPIX_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, MPIX_SYSTEM_RANKED, &comm));
  if (!in) return;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  MPI_Request requests[2];
  OK(MPI_Comm_dup(comm, &copies[0]));
  OK(MPI_Comm_idup(comm, &copies[1], &requests[0]));
  OK(MPI_Comm_dup(copies[0], &copies[2]));
  OK(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE));
  if (rank % 2 == 0) { /* one that knows the group may be a neighbour of one that does not */
    MPI_Group group;
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Group_free(&group));
  }
  OK(MPI_Comm_dup(comm, &copies[3]));
  OK(MPI_Comm_free(&comm));
  for (int i = 0; i < 4; ++i) {
    int mine, all, got = -1;
    OK(MPI_Comm_rank(copies[i], &mine));
    OK(MPI_Comm_size(copies[i], &all));
    CHECK(mine == rank && all == size);
    own_collectives(copies[i]);
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                    (rank + size - 1) % size, 1, copies[i], MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size);
  }
  OK(MPI_Comm_compare(copies[2], copies[3], &result));
  CHECK(result == MPI_CONGRUENT);
  for (int i = 0; i < 4; ++i) OK(MPI_Comm_free(&copies[i]));
}

/* Who is in no group does not wait for the others of its process. */
static void nobody_waits_in_vain(void) {
  int first, here, token = 1;
  MPI_Comm comm;
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPIX_Get_collocated_size(&here));
  int in = world_rank != first;
  if (in && world_rank == first + 1)
    OK(MPI_Recv(&token, 1, MPI_INT, first, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPIX_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, MPIX_SYSTEM_RANKED, &comm));
  CHECK((comm == MPI_COMM_NULL) == !in);
  if (!in && here > 1) OK(MPI_Send(&token, 1, MPI_INT, first + 1, 9, MPI_COMM_WORLD));
  if (in) OK(MPI_Comm_free(&comm));
}

static void hints(void) {
  const char* algorithms[] = {"centralized", "shrink_and_balance", "rank_and_hash"};
  const char* ks[] = {"2", "3", "64"};
  for (int a = 0; a < 3; ++a)
    for (int k = 0; k < 3; ++k) {
      MPI_Info info;
      OK(MPI_Info_create(&info));
      OK(MPI_Info_set(info, "fgmpi_system_ranked_algorithm", algorithms[a]));
      OK(MPI_Info_set(info, "fgmpi_system_ranked_k", ks[k]));
      MPI_Comm comm;
      int in = takes_part(world_rank, 60, k);
      OK(MPIX_Comm_split_system_ranked(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, info, &comm));
      OK(MPI_Info_free(&info));
      if (!in) continue;
      own_collectives(comm);
      OK(MPI_Comm_free(&comm));
    }
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_system_ranked_k", "1"));
  MPI_Comm comm;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(MPIX_Comm_split_system_ranked(MPI_COMM_WORLD, 0, info, &comm) != MPI_SUCCESS);
  CHECK(comm == MPI_COMM_NULL);
  CHECK(MPIX_Comm_split_system_ranked(MPI_COMM_WORLD, -5, MPI_INFO_NULL, &comm) != MPI_SUCCESS);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  const int percents[] = {100, 60, 20, 90, 1};
  for (int i = 0; i < 5; ++i) one_group(percents[i], i + 1);
  nested();
  many();
  short_lived();
  duplicates();
  nobody_waits_in_vain();
  hints();
  return finish();
}
