/* One-sided operations that are under way when the target's process fails: they end, with
 * MPIX_ERR_PROC_FAILED where it had to answer. The last process is stopped, and killed by rank
 * 0. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

enum { kLarge = 1 << 20 };

/* Where the memory is shared, operations are done at once. */
static int answers;
#define ENDS(call)                                                                        \
  do {                                                                                    \
    const int code_ = (call);                                                             \
    CHECK(class_of(code_) == MPIX_ERR_PROC_FAILED || (!answers && code_ == MPI_SUCCESS)); \
  } while (0)

static char out[kLarge], in[kLarge];

/* 'T': the process is stopped. */
static char state_of(int process) {
  char name[64], state = '?';
  snprintf(name, sizeof name, "/proc/%d/stat", process);
  FILE* file = fopen(name, "r");
  CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
  fclose(file);
  return state;
}

/* Operations to `target`, which does not answer. */
static void begin(MPI_Win win, int target, MPI_Request* request) {
  int one = 1;
  OK(MPI_Put(out, 100, MPI_CHAR, target, 0, 100, MPI_CHAR, win));
  OK(MPI_Get(in, 100, MPI_CHAR, target, 0, 100, MPI_CHAR, win));
  OK(MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win));
  OK(MPI_Put(out, kLarge, MPI_CHAR, target, 0, kLarge, MPI_CHAR, win));
  OK(MPI_Get(in, kLarge, MPI_CHAR, target, 0, kLarge, MPI_CHAR, win));
  OK(MPI_Rput(out, 10000, MPI_CHAR, target, 0, 10000, MPI_CHAR, win, request));
}

int main(int argc, char** argv) {
  int rank, size, own = 5, got = -1, victim[2] = {getpid(), 0}; /* its process id and first rank */
  char* memory;
  MPI_Win win;
  MPI_Request request;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int last = size - 1;
  const char* transport = getenv("FGMPI_TRANSPORT");
  answers = transport && strcmp(transport, "ofi") == 0;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Win_allocate(kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPIX_Get_collocated_startrank(&victim[1]));
  OK(MPI_Bcast(victim, 2, MPI_INT, last, MPI_COMM_WORLD));
  const int next = (rank + 1) % victim[1]; /* among those that are left */
  OK(MPI_Win_lock_all(0, win));
  /* The lock of a target is taken when it is reached. */
  OK(MPI_Get(in, 1, MPI_CHAR, last, 0, 1, MPI_CHAR, win));
  OK(MPI_Get(in, 1, MPI_CHAR, next, 0, 1, MPI_CHAR, win));
  OK(MPI_Win_flush_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank >= victim[1]) raise(SIGSTOP);
  while (state_of(victim[0]) != 'T') usleep(1000);
  begin(win, last, &request);
  if (rank == 0) {
    usleep(50000); /* the others have begun theirs, or come later */
    kill(victim[0], SIGKILL);
  }
  ENDS(MPI_Win_flush(last, win));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); /* is over; the error is the flush's */
  /* Later ones, too, and those to others go on. */
  MPI_Put(out, 100, MPI_CHAR, last, 0, 100, MPI_CHAR, win);
  MPI_Put(out, kLarge, MPI_CHAR, last, 0, kLarge, MPI_CHAR, win);
  MPI_Win_flush(last, win);
  if (answers && MPI_Fetch_and_op(&own, &got, MPI_INT, last, 0, MPI_SUM, win) == MPI_SUCCESS)
    FAILS(MPI_Win_flush(last, win));
  OK(MPI_Fetch_and_op(&own, &got, MPI_INT, rank, 64, MPI_REPLACE, win));
  OK(MPI_Win_flush(rank, win));
  OK(MPI_Get(in, 4, MPI_CHAR, next, 64, 4, MPI_CHAR, win));
  OK(MPI_Win_flush_all(win));
  MPI_Win_unlock_all(win);
  FAILS(MPI_Win_free(&win));
  printf("rank %d has seen all\n", rank);
  MPI_Finalize();
  return 0;
}
