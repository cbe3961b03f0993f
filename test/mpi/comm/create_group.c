/* MPI_Comm_create_group under way many times at once: every rank goes through the same list of
 * groups and calls for those that it is in, so that ranks are at very different places of the list
 * and groups overlap, often with the same leader, size and tag. Each communicator is checked by
 * what its members send each other. */
#include "mpitest.h"

enum { kGroups = 60 };

static unsigned next_random(unsigned* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* The members of group number k in order; returns how many. Every third group differs from the one
 * before it in one member only, in the middle, with the same leader and size. */
static int members(int k, int size, int* ranks) {
  unsigned state = 2463534242u + 7919u * (unsigned)(k - k % 3);
  int n = 2 + (int)(next_random(&state) % (unsigned)(size - 1)), i;
  for (i = 0; i < size; ++i) ranks[i] = i;
  for (i = 0; i < size; ++i) {
    int j = i + (int)(next_random(&state) % (unsigned)(size - i)), t = ranks[i];
    ranks[i] = ranks[j];
    ranks[j] = t;
  }
  if (k % 3 != 0 && n > 2 && n + 2 < size) ranks[n - n / 3 - 1] = ranks[n - 1 + k % 3];
  return n;
}

static void use(MPI_Comm c, int k, int n, const int* ranks, int me) {
  int size, rank, world, got[2] = {-1, -1}, mine[2];
  long sum, value, expected = 0;
  OK(MPI_Comm_size(c, &size));
  OK(MPI_Comm_rank(c, &rank));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world));
  CHECK(size == n && rank == me && ranks[me] == world);
  mine[0] = world;
  mine[1] = k;
  OK(MPI_Sendrecv(mine, 2, MPI_INT, (rank + 1) % n, 1, got, 2, MPI_INT, (rank + n - 1) % n, 1, c,
                  MPI_STATUS_IGNORE));
  CHECK(got[0] == ranks[(rank + n - 1) % n] && got[1] == k);
  value = (long)world * 1000 + k;
  OK(MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, c));
  for (size = 0; size < n; ++size) expected += (long)ranks[size] * 1000 + k;
  CHECK(sum == expected);
}

int main(int argc, char** argv) {
  int rank, size, k, i, *ranks, place[kGroups];
  MPI_Comm made[kGroups];
  MPI_Group world;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size < 2) return finish();
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  ranks = malloc(sizeof(int) * (size_t)size);
  for (k = 0; k < kGroups; ++k) {
    MPI_Group group;
    int n = members(k, size, ranks), tag = k % 4 == 3 ? k : 5;
    made[k] = MPI_COMM_NULL;
    place[k] = -1;
    for (i = 0; i < n; ++i)
      if (ranks[i] == rank) place[k] = i;
    OK(MPI_Group_incl(world, n, ranks, &group));
    /* Those outside may call too, and get nothing. */
    if (place[k] >= 0 || k % 7 == 0)
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &made[k]));
    CHECK((made[k] != MPI_COMM_NULL) == (place[k] >= 0));
    OK(MPI_Group_free(&group));
    if (k % 5 == 4 && place[k] >= 0) {
      use(made[k], k, n, ranks, place[k]);
      OK(MPI_Comm_free(&made[k]));
    }
  }
  /* Those still there are used in reverse order: their messages must not mix. */
  for (k = kGroups - 1; k >= 0; --k) {
    if (made[k] == MPI_COMM_NULL) continue;
    int n = members(k, size, ranks);
    use(made[k], k, n, ranks, place[k]);
    OK(MPI_Comm_free(&made[k]));
  }
  OK(MPI_Group_free(&world));
  free(ranks);
  return finish();
}
