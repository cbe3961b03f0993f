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

static void windows(void) {
  int* memory;
  MPI_Win win;
  MPI_Group all;
  if (size > 1 && rank < 2) { /* memory that two ranks load and store */
    MPI_Comm two;
    MPI_Group world;
    const int ranks[2] = {0, 1};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, ranks, &all);
    MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &two);
    MPI_Group_free(&world);
    MPI_Group_free(&all);
    /* Shared memory needs one host, which all tests have. */
    MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, two, &memory, &win);
    MPI_Comm_free(&two);
  }
  if (size > 1) refused();
  if (size > 1 && rank < 2) MPI_Win_free(&win);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_get_group(win, &all);
  MPI_Win_post(all, 0, win);
  refused();
  MPI_Win_start(all, 0, win);
  refused();
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Group_free(&all);
  checkpoint();
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  int flag = 0, sum = -1, one = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm;
  start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);

  windows();
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
