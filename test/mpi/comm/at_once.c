/* Many MPI_Comm_idup at once, of several communicators, with attributes copied, completed in
 * another order; and creations from sessions under way at once with the same string tag. */
#include "mpitest.h"

enum { kMany = 60, kGroups = 30 };

static int copies, deletes;
static int copy_fn(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_fn(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

static void test_idup(int rank, int size) {
  static char cell[4];
  MPI_Comm parents[3], made[kMany];
  MPI_Request requests[kMany];
  int keyval, i, flag, n;
  long one, sum;
  void* value;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &parents[0]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parents[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &parents[2]));
  OK(MPI_Comm_create_keyval(copy_fn, delete_fn, &keyval, NULL));
  for (i = 0; i < 3; ++i) OK(MPI_Comm_set_attr(parents[i], keyval, cell + i));
  copies = deletes = 0;
  for (i = 0; i < kMany; ++i) OK(MPI_Comm_idup(parents[i % 3], &made[i], &requests[i]));
  CHECK(copies == kMany);
  /* The parents may be freed before the duplicates exist. */
  for (i = 0; i < 3; ++i) OK(MPI_Comm_free(&parents[i]));
  CHECK(deletes == 3);
  for (i = kMany - 1; i >= 0; i -= 2) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  OK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE));
  for (i = 0; i < kMany; ++i) {
    OK(MPI_Comm_get_attr(made[i], keyval, &value, &flag));
    CHECK(flag && value == cell + i % 3 + 1);
    OK(MPI_Comm_size(made[i], &n));
    CHECK(n == (i % 3 == 1 ? (size - rank % 2 + 1) / 2 : size));
    one = i;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, made[i]));
    CHECK(sum == (long)i * n);
  }
  for (i = 0; i < kMany; ++i) OK(MPI_Comm_free(&made[(7 * i) % kMany]));
  CHECK(deletes == 3 + kMany);
  OK(MPI_Comm_free_keyval(&keyval));
}

/* Group k: every (1 + k % 3)-th rank from k % 2 on, so that groups overlap; all with the same tag.
 * Ranks go through the list each at its own pace. */
static void test_sessions(int rank, int size) {
  MPI_Session session;
  MPI_Group world, group;
  MPI_Comm made[kGroups];
  int k, n, r;
  long one = 1, sum;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  for (k = 0; k < kGroups; ++k) {
    int range[1][3];
    range[0][0] = k % 2 < size ? k % 2 : 0, range[0][1] = size - 1 - k % 4 % size,
    range[0][2] = 1 + k % 3;
    made[k] = MPI_COMM_NULL;
    if (range[0][1] < range[0][0]) continue;
    OK(MPI_Group_range_incl(world, 1, range, &group));
    OK(MPI_Group_rank(group, &r));
    if (r != MPI_UNDEFINED)
      OK(MPI_Comm_create_from_group(group, "the same tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                    &made[k]));
    OK(MPI_Group_free(&group));
  }
  for (k = kGroups - 1; k >= 0; --k) {
    if (made[k] == MPI_COMM_NULL) continue;
    OK(MPI_Comm_size(made[k], &n));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, made[k]));
    CHECK(sum == n);
    OK(MPI_Comm_free(&made[k]));
  }
  OK(MPI_Group_free(&world));
  OK(MPI_Session_finalize(&session));
  (void)rank;
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  test_idup(rank, size);
  test_sessions(rank, size);
  return finish();
}
