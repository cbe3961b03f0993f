/* Files used by several threads of each rank at once (MPI-4.0 section 14.6.8): collective writes
 * and reads of a file a thread, nonblocking ones that another thread completes, and all threads'
 * atomic appends to one shared file pointer. */
#include <string.h>
#include <unistd.h>

#include "threads.h"

enum { kRounds = 6, kItems = 96 };

static int rank, size, threads;
static char name[128];
static MPI_Comm comms[kMostThreads];
static MPI_File files[kMostThreads], shared;
static MPI_Request requests[kMostThreads];
static int written[kMostThreads][kItems];

static int item(int r, int thread, int round, int i) {
  return ((r * threads + thread) * kRounds + round) * kItems + i;
}

static void collective(int thread) {
  char own[160];
  int data[kItems];
  MPI_Status status;
  snprintf(own, sizeof own, "%s_%d", name, thread);
  OK(MPI_File_open(comms[thread], own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                   &files[thread]));
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset block = ((MPI_Offset)round * size + rank) * (MPI_Offset)sizeof data;
    for (int i = 0; i < kItems; ++i) data[i] = item(rank, thread, round, i);
    OK(MPI_File_write_at_all(files[thread], block, data, kItems, MPI_INT, MPI_STATUS_IGNORE));
    /* What the next rank has written is there once it has been synchronized. */
    OK(MPI_File_sync(files[thread]));
    OK(MPI_Barrier(comms[thread]));
    OK(MPI_File_sync(files[thread]));
    int next = (rank + 1) % size, count;
    memset(data, 0xff, sizeof data);
    block = ((MPI_Offset)round * size + next) * (MPI_Offset)sizeof data;
    OK(MPI_File_read_at_all(files[thread], block, data, kItems, MPI_INT, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == kItems);
    for (int i = 0; i < kItems; ++i) CHECK(data[i] == item(next, thread, round, i));
  }
}

static void start_write(int thread) {
  MPI_Offset block = (MPI_Offset)rank * (MPI_Offset)sizeof written[0];
  for (int i = 0; i < kItems; ++i) written[thread][i] = -item(rank, thread, 0, i);
  OK(MPI_File_iwrite_at(files[thread], block, written[thread], kItems, MPI_INT, &requests[thread]));
}

static void complete_and_close(int thread) {
  const int other = (thread + 1) % threads; /* started by another thread */
  int data[kItems];
  OK(MPI_Wait(&requests[other], MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(files[other], (MPI_Offset)rank * (MPI_Offset)sizeof data, data, kItems,
                      MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < kItems; ++i) CHECK(data[i] == -item(rank, other, 0, i));
  OK(MPI_File_close(&files[other]));
}

static void append(int thread) {
  for (int round = 0; round < kRounds; ++round) {
    int record[2] = {rank * threads + thread, round};
    OK(MPI_File_write_shared(shared, record, 2, MPI_INT, MPI_STATUS_IGNORE));
  }
}

/* Every record is there once. */
static void check_appended(void) {
  const int records = size * threads * kRounds;
  int* all = malloc(2 * sizeof *all * (size_t)records);
  char* seen = calloc((size_t)records, 1);
  MPI_Offset bytes;
  OK(MPI_File_get_size(shared, &bytes));
  CHECK(bytes == (MPI_Offset)records * 8);
  OK(MPI_File_read_at(shared, 0, all, 2 * records, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < records; ++i) {
    const int writer = all[2 * i], round = all[2 * i + 1];
    CHECK(writer >= 0 && writer < size * threads && round >= 0 && round < kRounds);
    CHECK(!seen[writer * kRounds + round]++);
  }
  free(all);
  free(seen);
}

int main(int argc, char** argv) {
  int pid;
  init_threads(&argc, &argv);
  threads = threads_of_shape();
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  pid = getpid();
  OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
  snprintf(name, sizeof name, "fgmpi_threads_%d", pid);
  for (int t = 0; t < threads; ++t) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &shared));
  run_threads(threads, collective);
  run_threads(threads, start_write);
  run_threads(threads, complete_and_close);
  run_threads(threads, append);
  OK(MPI_File_sync(shared));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(shared));
  check_appended();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_close(&shared));
  for (int t = 0; t < threads; ++t) {
    char own[160];
    snprintf(own, sizeof own, "%s_%d", name, t);
    if (rank == 0) OK(MPI_File_delete(own, MPI_INFO_NULL));
    OK(MPI_Comm_free(&comms[t]));
  }
  return finish();
}
