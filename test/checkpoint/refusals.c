/* What no checkpoint can carry yet is refused by all ranks at once, and the program goes on. */
#include <unistd.h>

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

static void files(void) {
  char name[100] = "";
  MPI_File file;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) snprintf(name, sizeof name, "refusals.%d", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  checkpoint();
  MPI_File_write_ordered_begin(file, &rank, 1, MPI_INT);
  refused();
  MPI_File_write_ordered_end(file, &rank, MPI_STATUS_IGNORE);
  checkpoint();
  if (size > 1) { /* a collective operation that only some members have begun */
    int got = -1;
    if (rank > 0) MPI_File_iread_at_all(file, 0, &got, 1, MPI_INT, &request);
    refused();
    if (rank == 0) MPI_File_iread_at_all(file, 0, &got, 1, MPI_INT, &request);
    checkpoint();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == 0);
  }
  if (rank == 0) unlink(name);
  refused(); /* it could not be opened again */
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, name,
                MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  refused();
  MPI_File_close(&file);
  CHECK(access(name, F_OK) != 0);
  checkpoint();
}

int main(int argc, char** argv) {
  int flag = 0, sum = -1, one = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm;
  start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);

  windows();
  files();

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
