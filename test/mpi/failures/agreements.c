/* MPIX_Comm_iagree and MPIX_Comm_ishrink where nothing fails: several under way at once, blocking
 * ones among them, communicators that are freed or revoked meanwhile. */

#include "errors.h"

static int rank, size;

/* The ranks complete their requests in different orders. */
static void several(void) {
  enum { kMany = 5 };
  MPI_Request r[kMany];
  int flag[kMany], blocking = ~(1 << rank % 30), done;
  for (int i = 0; i < kMany; ++i) {
    flag[i] = rank == i % size ? ~(1 << i) : -1;
    OK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag[i], &r[i]));
  }
  OK(MPIX_Comm_agree(MPI_COMM_WORLD, &blocking));
  int wanted = -1;
  for (int i = 0; i < (size < 30 ? size : 30); ++i) wanted &= ~(1 << i);
  CHECK(blocking == wanted);
  if (rank % 2) {
    OK(MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE));
  } else {
    for (int i = kMany; i-- > 0;) do
        OK(MPI_Test(&r[i], &done, MPI_STATUS_IGNORE));
      while (!done);
  }
  for (int i = 0; i < kMany; ++i) CHECK(flag[i] == ~(1 << i));
}

static void shrinks(void) {
  MPI_Comm parent, made[2], blocking;
  MPI_Request r[2];
  int same, sum, one = 1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  OK(MPIX_Comm_ishrink(parent, &made[0], &r[0]));
  OK(MPIX_Comm_shrink(parent, &blocking));
  OK(MPIX_Comm_ishrink(parent, &made[1], &r[1]));
  OK(MPI_Comm_free(&parent));
  OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Comm_compare(made[i], MPI_COMM_WORLD, &same));
    CHECK(same == MPI_CONGRUENT);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[i]));
    CHECK(sum == size);
    OK(MPI_Comm_free(&made[i]));
  }
  OK(MPI_Comm_free(&blocking));
}

static void revoked(void) {
  MPI_Comm comm, left;
  MPI_Request r;
  int flag = -1, is = -1, sum, one = 1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPIX_Comm_is_revoked(comm, &is));
  CHECK(!is);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == size - 1) OK(MPIX_Comm_revoke(comm));
  while (!is) {
    OK(MPIX_Comm_is_revoked(comm, &is));
    OK(MPIX_Yield());
  }
  CHECK(class_of(MPI_Barrier(comm)) == MPIX_ERR_REVOKED);
  OK(MPIX_Comm_iagree(comm, &flag, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  CHECK(flag == -1);
  OK(MPIX_Comm_ishrink(comm, &left, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPIX_Comm_is_revoked(left, &is));
  CHECK(!is);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left));
  CHECK(sum == size);
  OK(MPI_Comm_free(&left));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Group none;
  int acked = -1, n = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  several();
  shrinks();
  OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &none));
  OK(MPI_Group_size(none, &n));
  CHECK(n == 0);
  if (none != MPI_GROUP_EMPTY) OK(MPI_Group_free(&none));
  OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 3, &acked));
  CHECK(acked == 0);
  revoked();
  return finish();
}
