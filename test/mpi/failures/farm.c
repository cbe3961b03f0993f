/* A task farm: every second worker kills its process when it gets a task, one after the other. All
   tasks are done in the end. Run with one rank a process. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kTasks = 200, kStop = -1, kTag = 1 };

static void worker(int rank) {
  for (int done = 0;; ++done) {
    int task, result[2];
    MPI_Recv(&task, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task == kStop) return;
    usleep(2000); /* so that every worker gets its share */
    if (rank % 2 && done == rank) kill(getpid(), SIGKILL);
    result[0] = task;
    result[1] = task * task;
    MPI_Send(result, 2, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
}

static int size, *task_of, done[kTasks], missing = kTasks;

/* The next task that nobody has, or kStop. */
static int next_task(void) {
  for (int t = 0; t < kTasks; ++t) {
    int taken = done[t];
    for (int r = 1; r < size && !taken; ++r) taken = task_of[r] == t;
    if (!taken) return t;
  }
  return kStop;
}

static void give(int r) {
  if (task_of[r] == -2) return;
  task_of[r] = next_task();
  if (task_of[r] != kStop) MPI_Send(&task_of[r], 1, MPI_INT, r, kTag, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank, failed = 0;
  long sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank > 0) {
    worker(rank);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  task_of = malloc(size * sizeof *task_of); /* kStop: idle; -2: has failed */
  for (int r = 1; r < size; ++r) task_of[r] = kStop;
  for (int r = 1; r < size; ++r) give(r);
  while (missing > 0) {
    int result[2];
    MPI_Status status;
    int code = MPI_Recv(result, 2, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status),
        error = MPI_SUCCESS;
    if (code == MPI_SUCCESS) {
      sum += result[1];
      missing -= !done[result[0]];
      done[result[0]] = 1;
      give(status.MPI_SOURCE);
      continue;
    }
    MPI_Error_class(code, &error);
    if (error != MPIX_ERR_PROC_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Group group, world;
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &failed);
    for (int i = 0; i < failed; ++i) {
      int r;
      MPI_Group_translate_ranks(group, 1, &i, world, &r);
      task_of[r] = -2;
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    for (int r = 1; r < size; ++r)
      if (task_of[r] == kStop) give(r);
  }
  int stop = kStop;
  for (int r = 1; r < size; ++r)
    if (task_of[r] != -2) MPI_Send(&stop, 1, MPI_INT, r, kTag, MPI_COMM_WORLD);
  printf("%d workers failed, sum %ld\n", failed, sum);
  MPI_Finalize();
  return sum == (long)(kTasks - 1) * kTasks * (2 * kTasks - 1) / 6 ? 0 : 4;
}
