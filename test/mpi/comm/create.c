/* Splits, duplicates, creations: each new communicator is checked by communicating in it. */
#include "mpitest.h"

/* Everybody passes its world rank around the ring and adds up; the members expected are given as a
 * sum. */
static void use(MPI_Comm comm, int expected_size, int expected_rank, long expected_sum) {
  int rank, size, world, from, got;
  long sum = 0, mine;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world));
  CHECK(size == expected_size);
  CHECK(rank == expected_rank);
  from = (rank + size - 1) % size;
  OK(MPI_Sendrecv(&world, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, from, 5, comm,
                  MPI_STATUS_IGNORE));
  mine = world;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm));
  CHECK(sum == expected_sum);
  OK(MPI_Bcast(&got, 1, MPI_INT, size - 1, comm));
}

static long sum_of(int first, int count, int step) {
  return (long)count * first + (long)step * count * (count - 1) / 2;
}

static void test_dup(int rank, int size) {
  MPI_Comm a, b;
  int result;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
  OK(MPI_Comm_dup(a, &b));
  use(a, size, rank, sum_of(0, size, 1));
  use(b, size, rank, sum_of(0, size, 1));
  OK(MPI_Comm_compare(a, b, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_compare(a, a, &result));
  CHECK(result == MPI_IDENT);
  /* A message in one must not be received in the other. */
  if (size > 1 && rank < 2) {
    int value = 1, first = 0, second = 0;
    if (rank == 0) {
      OK(MPI_Send(&value, 1, MPI_INT, 1, 3, a));
      value = 2;
      OK(MPI_Send(&value, 1, MPI_INT, 1, 3, b));
    } else {
      OK(MPI_Recv(&second, 1, MPI_INT, 0, 3, b, MPI_STATUS_IGNORE));
      OK(MPI_Recv(&first, 1, MPI_INT, 0, 3, a, MPI_STATUS_IGNORE));
      CHECK(first == 1 && second == 2);
    }
  }
  OK(MPI_Comm_free(&a));
  CHECK(a == MPI_COMM_NULL);
  use(b, size, rank, sum_of(0, size, 1));
  OK(MPI_Comm_free(&b));
}

static void test_split(int rank, int size) {
  MPI_Comm c, cc;
  int odd = rank % 2, n = (size - odd + 1) / 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &c));
  use(c, n, rank / 2, sum_of(odd, n, 2));
  /* Split again: halves of halves. */
  OK(MPI_Comm_split(c, rank / 2 % 2, 0, &cc));
  int first = odd + 2 * (rank / 2 % 2), m = (size - first + 3) / 4;
  use(cc, m, rank / 4, sum_of(first, m, 4));
  OK(MPI_Comm_free(&cc));
  OK(MPI_Comm_free(&c));
  /* Reversed by key, all in one. */
  OK(MPI_Comm_split(MPI_COMM_WORLD, 7, -rank, &c));
  use(c, size, size - 1 - rank, sum_of(0, size, 1));
  OK(MPI_Comm_free(&c));
  /* Everybody alone. */
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &c));
  use(c, 1, 0, rank);
  OK(MPI_Comm_free(&c));
  /* Some in none. */
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 0 ? 1000000 : MPI_UNDEFINED, 5, &c));
  if (rank % 3 == 0) {
    use(c, (size + 2) / 3, rank / 3, sum_of(0, (size + 2) / 3, 3));
    OK(MPI_Comm_free(&c));
  } else {
    CHECK(c == MPI_COMM_NULL);
  }
  /* Keys of any sign and size, colors far apart: order by key, ties by rank. */
  int key = (int)((unsigned)rank * 2654435761u), below = 0, i;
  for (i = 0; i < size; ++i) {
    int other = (int)((unsigned)i * 2654435761u);
    if (i % 2 == rank % 2 && (other < key || (other == key && i < rank))) ++below;
  }
  OK(MPI_Comm_split(MPI_COMM_WORLD, odd * 0x7fffffff, key, &c));
  use(c, n, below, sum_of(odd, n, 2));
  /* A child of an irregular communicator. */
  int crank, csize;
  OK(MPI_Comm_rank(c, &crank));
  OK(MPI_Comm_size(c, &csize));
  OK(MPI_Comm_split(c, 0, -crank, &cc));
  use(cc, csize, csize - 1 - crank, sum_of(odd, n, 2));
  OK(MPI_Comm_free(&cc));
  OK(MPI_Comm_dup(c, &cc));
  use(cc, csize, crank, sum_of(odd, n, 2));
  OK(MPI_Comm_free(&c));
  OK(MPI_Comm_free(&cc));
}

static void test_create(int rank, int size) {
  MPI_Group world, group, rest;
  MPI_Comm c;
  int range[1][3] = {{size - 1, 0, -2}}, n, r;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_range_incl(world, 1, range, &group));
  OK(MPI_Group_difference(world, group, &rest));
  OK(MPI_Group_size(group, &n));
  OK(MPI_Group_rank(group, &r));
  /* Disjoint groups in one call. */
  OK(MPI_Comm_create(MPI_COMM_WORLD, r == MPI_UNDEFINED ? rest : group, &c));
  if (r != MPI_UNDEFINED) {
    use(c, n, r, sum_of(size - 1, n, -2));
  } else {
    OK(MPI_Group_rank(rest, &r));
    use(c, size - n, r, sum_of(0, size, 1) - sum_of(size - 1, n, -2));
  }
  OK(MPI_Comm_free(&c));
  OK(MPI_Comm_create(MPI_COMM_WORLD, group, &c));
  OK(MPI_Group_rank(group, &r));
  CHECK((c == MPI_COMM_NULL) == (r == MPI_UNDEFINED));
  if (c != MPI_COMM_NULL) OK(MPI_Comm_free(&c));
  /* By the members alone, twice with the same tag. */
  if (r != MPI_UNDEFINED) {
    MPI_Comm d;
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &c));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &d));
    use(c, n, r, sum_of(size - 1, n, -2));
    use(d, n, r, sum_of(size - 1, n, -2));
    OK(MPI_Comm_free(&c));
    OK(MPI_Comm_free(&d));
  } else {
    OK(MPI_Group_rank(rest, &r));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, rest, 17, &c));
    use(c, size - n, r, sum_of(0, size, 1) - sum_of(size - 1, n, -2));
    OK(MPI_Comm_free(&c));
  }
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&group));
  if (rest != MPI_GROUP_EMPTY) OK(MPI_Group_free(&rest));
}

static void test_idup(int rank, int size) {
  MPI_Comm c[3];
  MPI_Request r[3];
  MPI_Status statuses[3];
  int i;
  for (i = 0; i < 3; ++i) OK(MPI_Comm_idup(MPI_COMM_WORLD, &c[i], &r[i]));
  OK(MPI_Waitall(3, r, statuses));
  for (i = 2; i >= 0; --i) {
    use(c[i], size, rank, sum_of(0, size, 1));
    OK(MPI_Comm_free(&c[i]));
  }
}

static void test_self(int rank) {
  MPI_Comm c;
  int result;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &c));
  use(c, 1, 0, rank);
  OK(MPI_Comm_compare(c, MPI_COMM_SELF, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_free(&c));
}

static void test_split_type(int rank) {
  MPI_Comm c, d;
  MPI_Info info;
  int n, world, r, on_host, zero, has_zero;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &c));
  OK(MPI_Comm_size(c, &n));
  on_host = n;
  zero = rank == 0;
  OK(MPI_Allreduce(&zero, &has_zero, 1, MPI_INT, MPI_MAX, c));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world));
  CHECK(n >= 1 && n <= world);
  OK(MPI_Comm_free(&c));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                         MPI_INFO_NULL, &c));
  CHECK((c == MPI_COMM_NULL) == (rank % 2 == 1));
  if (c != MPI_COMM_NULL) OK(MPI_Comm_free(&c));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "process"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &c));
  CHECK(c != MPI_COMM_NULL);
  OK(MPI_Comm_rank(c, &r));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "no such thing"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &d));
  CHECK(d == MPI_COMM_NULL);
  OK(MPI_Comm_free(&c));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &c));
  if (c != MPI_COMM_NULL) {
    OK(MPI_Comm_size(c, &n));
    CHECK(n < world);
    OK(MPI_Comm_free(&c));
  }
  /* Types have other values in other versions of mpi.h: 4 is MPI 4.1's MPI_COMM_TYPE_RESOURCE_GUIDED,
   * and a neighbourhood in MPICH 4.0, where 5 is none. The info object tells which is meant. */
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, 4, 0, info, &c));
  OK(MPI_Comm_size(c, &n));
  CHECK(n == on_host);
  OK(MPI_Comm_free(&c));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, 5, 0, info, &c));
  CHECK(c == MPI_COMM_NULL);
  OK(MPI_Info_delete(info, "mpi_hw_resource_type"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, 4, 0, info, &c));
  CHECK(c == MPI_COMM_NULL);
  OK(MPI_Info_set(info, "nbhd_common_dirname", "/tmp"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, 5, 0, info, &c));
  OK(MPI_Comm_size(c, &n));
  CHECK(n == world);
  OK(MPI_Comm_free(&c));
  OK(MPI_Info_delete(info, "nbhd_common_dirname"));
  /* MPICH's neighbourhoods: who sees the same directory; nobody where there is none, or none is
   * named. */
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, &c));
  CHECK(c == MPI_COMM_NULL);
  OK(MPI_Info_set(info, "nbhd_common_dirname", "/no/such/directory"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, &c));
  CHECK(c == MPI_COMM_NULL);
  OK(MPI_Info_set(info, "nbhd_common_dirname", "/tmp"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, -rank, info, &c));
  CHECK(c != MPI_COMM_NULL);
  OK(MPI_Comm_rank(c, &r));
  OK(MPI_Comm_size(c, &n));
  CHECK(n == world && r == world - 1 - rank);
  OK(MPI_Comm_free(&c));
  OK(MPI_Info_set(info, "nbhd_common_dirname", "/proc")); /* takes no files: the host */
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : MPIX_COMM_TYPE_NEIGHBORHOOD, 0,
                         info, &c));
  CHECK((c == MPI_COMM_NULL) == (rank == 0));
  if (c != MPI_COMM_NULL) {
    OK(MPI_Comm_size(c, &n));
    CHECK(n == on_host - has_zero);
    OK(MPI_Comm_free(&c));
  }
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  int rank, size, i;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (i = 0; i < 2; ++i) {
    test_dup(rank, size);
    test_split(rank, size);
    test_create(rank, size);
    test_idup(rank, size);
    test_self(rank);
  }
  test_split_type(rank);
  return finish();
}
