/* Intercommunicators: create, talk across, dup, split, create, merge. One rank alone has none. */
#include "mpitest.h"

/* Each rank of the larger side talks to rank % size of the smaller one, and hears its world
 * rank. */
static void use(MPI_Comm inter) {
  int rank, m, n, world, got, i, flag, peer, expected;
  MPI_Group remote, all;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &n));
  OK(MPI_Comm_remote_size(inter, &m));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  OK(MPI_Comm_remote_group(inter, &remote));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  /* Of two equal sides the one with the lower first rank. */
  {
    MPI_Group local;
    int zero = 0, mine, theirs;
    OK(MPI_Comm_group(inter, &local));
    OK(MPI_Group_translate_ranks(local, 1, &zero, all, &mine));
    OK(MPI_Group_translate_ranks(remote, 1, &zero, all, &theirs));
    OK(MPI_Group_free(&local));
    flag = n > m || (n == m && mine < theirs);
  }
  if (flag) {
    peer = rank % m;
    OK(MPI_Sendrecv(&world, 1, MPI_INT, rank % m, 7, &got, 1, MPI_INT, rank % m, 8, inter,
                    MPI_STATUS_IGNORE));
  } else {
    for (i = rank; i < m; i += n) {
      peer = i;
      OK(MPI_Recv(&got, 1, MPI_INT, i, 7, inter, MPI_STATUS_IGNORE));
      OK(MPI_Send(&world, 1, MPI_INT, i, 8, inter));
    }
  }
  OK(MPI_Group_translate_ranks(remote, 1, &peer, all, &expected));
  CHECK(got == expected);
  OK(MPI_Group_free(&remote));
  OK(MPI_Group_free(&all));
}

static void check_merged(MPI_Comm merged, int size, int my_rank) {
  int n, r;
  long one = 1, sum;
  OK(MPI_Comm_size(merged, &n));
  OK(MPI_Comm_rank(merged, &r));
  CHECK(n == size);
  if (my_rank >= 0) CHECK(r == my_rank);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, merged));
  CHECK(sum == size);
}

int main(int argc, char** argv) {
  int rank, size, i;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size == 1) return finish();
  /* Once by parity (every process hosts both sides), once by halves. */
  for (i = 0; i < 2; ++i) {
    MPI_Comm local, inter, dup, merged, sub;
    int side = i ? rank >= size / 2 : rank % 2;
    int first[2] = {0, i ? size / 2 : 1}, n, m, local_rank, result;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local));
    OK(MPI_Comm_rank(local, &local_rank));
    OK(MPI_Comm_size(local, &n));
    m = size - n;
    /* MPI says only of local_comm and local_leader that all of a group give the same: the tag is
     * the leader's. */
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first[!side],
                            local_rank == 0 ? 12 : 13 + local_rank, &inter));
    use(inter);
    {
      int a, b;
      OK(MPI_Comm_size(inter, &a));
      OK(MPI_Comm_remote_size(inter, &b));
      CHECK(a == n && b == m);
    }
    OK(MPI_Comm_dup(inter, &dup));
    use(dup);
    OK(MPI_Comm_compare(inter, dup, &result));
    CHECK(result == MPI_CONGRUENT);
    /* High and low, either way; the same on both sides leaves the order open. */
    OK(MPI_Intercomm_merge(inter, side, &merged));
    check_merged(merged, size, side ? m + local_rank : local_rank);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Intercomm_merge(dup, !side, &merged));
    check_merged(merged, size, side ? local_rank : m + local_rank);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Intercomm_merge(dup, 0, &merged));
    check_merged(merged, size, -1);
    OK(MPI_Comm_free(&merged));
    /* Split: first ranks of both sides, the rest; where one side has no rest it gets none. */
    OK(MPI_Comm_split(inter, local_rank == 0 ? 5 : 9, -local_rank, &sub));
    if (local_rank == 0) {
      CHECK(sub != MPI_COMM_NULL);
      use(sub);
    } else if (m > 1) {
      int r;
      CHECK(sub != MPI_COMM_NULL);
      OK(MPI_Comm_rank(sub, &r));
      CHECK(r == n - 1 - local_rank);
      use(sub);
    } else {
      CHECK(sub == MPI_COMM_NULL);
    }
    if (sub != MPI_COMM_NULL) OK(MPI_Comm_free(&sub));
    /* Create: the last of each side. */
    {
      MPI_Group all, last;
      int ranks[1];
      ranks[0] = n - 1;
      OK(MPI_Comm_group(inter, &all));
      OK(MPI_Group_incl(all, 1, ranks, &last));
      OK(MPI_Comm_create(inter, last, &sub));
      CHECK((sub != MPI_COMM_NULL) == (local_rank == n - 1));
      if (sub != MPI_COMM_NULL) {
        use(sub);
        OK(MPI_Comm_free(&sub));
      }
      OK(MPI_Group_free(&all));
      OK(MPI_Group_free(&last));
    }
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
  }
  return finish();
}
