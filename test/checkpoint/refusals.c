/* What no checkpoint can carry yet is refused by all ranks at once, and the program goes on. */
#include "checkpoint.h"

static void refused(void) {
  int flag = -1;
  CHECK(MPIX_Checkpoint(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == MPIX_CHECKPOINT_NONE);
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int release(void* state) { return (void)state, MPI_SUCCESS; }
static int cancel(void* state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

int main(int argc, char** argv) {
  int flag = 0, sum = -1, one = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm;
  start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);

  if (rank == size - 1) MPI_Grequest_start(query, release, cancel, NULL, &request);
  refused();
  if (rank == size - 1) {
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  checkpoint();

  /* A collective that only some members have begun. */
  if (size > 1) {
    if (rank > 0) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    refused();
    if (rank == 0) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    checkpoint();
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(sum == size && request == MPI_REQUEST_NULL);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Error_class(MPIX_Checkpoint(comm, &flag), &flag);
  CHECK(flag == MPI_ERR_COMM);
  MPI_Error_class(MPIX_Checkpoint(MPI_COMM_WORLD, NULL), &flag);
  CHECK(flag == MPI_ERR_ARG);
  MPI_Comm_free(&comm);
  return finish();
}
