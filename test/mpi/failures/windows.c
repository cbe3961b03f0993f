/* Windows and files that a failed process has open (mpiexec -ft): whatever waits for it ends with
 * MPIX_ERR_PROC_FAILED, the others' memory can be reached all the same, and nothing hangs. The last
 * process is killed while it holds a lock of rank 0; rank 1 holds one of its own. */
#include <signal.h>
#include <unistd.h>

#include "errors.h"

/* A lock for which ranks waited when the process failed is free once its holder has released it. */
static void late_locks(MPI_Win win, int rank, int size) {
  int class;
  if (rank == 1) {
    FAILS(MPI_Recv(NULL, 0, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    usleep(100000);
    OK(MPI_Win_unlock(1, win));
    return;
  }
  while ((class = class_of(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win))) == MPIX_ERR_PROC_FAILED)
    usleep(1000);
  CHECK(class == MPI_SUCCESS);
  OK(MPI_Win_unlock(1, win));
}

static void locks(MPI_Win win, int rank, int size) {
  long one = 1, before = -1;
  FAILS(MPI_Win_lock(rank % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size - 1, 0, win));
  while (class_of(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win)) == MPIX_ERR_PROC_FAILED)
    usleep(1000); /* some still look */
  OK(MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, 0, MPI_SUM, win));
  OK(MPI_Win_unlock(1, win));
  CHECK(before >= 0 && before < size);
}

static void epochs(MPI_Win win, MPI_Group last) {
  int flag = 1;
  OK(MPI_Win_post(last, 0, win));
  FAILS(MPI_Win_start(last, 0, win));
  FAILS(MPI_Win_test(win, &flag));
  FAILS(MPI_Win_wait(win));
  FAILS(MPI_Win_fence(0, win));
}

static void files(MPI_File file, int rank) {
  OK(MPI_File_write_at(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  FAILS(MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  FAILS(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  FAILS(MPI_File_set_size(file, 100));
  FAILS(MPI_File_sync(file));
}

int main(int argc, char** argv) {
  int rank, size, ranks;
  long* memory;
  char name[200];
  MPI_Win win, another;
  MPI_File file, second;
  MPI_Group all, last;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(argc > 1);
  snprintf(name, sizeof name, "%s/data", argv[1]);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Win_allocate(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  memory[0] = 0;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  ranks = size - 1;
  OK(MPI_Group_incl(all, 1, &ranks, &last));
  if (rank == size - 1) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
  if (rank == 1) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == size - 1) {
    usleep(100000);
    raise(SIGKILL);
  }
  /* Some ranks wait when the process fails, others come later. */
  if (rank % 2) usleep(200000);
  late_locks(win, rank, size);
  locks(win, rank, size);
  epochs(win, last);
  files(file, rank);
  FAILS(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &another));
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &second));
  FAILS(MPI_Win_free(&win));
  FAILS(MPI_File_close(&file));
  printf("rank %d has seen all\n", rank);
  OK(MPI_Group_free(&last));
  OK(MPI_Group_free(&all));
  MPI_Finalize();
  return 0;
}
