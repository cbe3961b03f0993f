/* Memory by kind: what every rank writes on its stack, in its globals, on the heap and in shared
   memory is counted there. A number that takes long to find may be as old as twenty times that: it
   is asked for until it is what it must become. */
#include <fgmpi.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

enum { kBytes = 64 * 1024, kMany = 50 };

static MPI_T_pvar_session session;
static char globals[kBytes];

static unsigned long long read_variable(const char* name, int class) {
  int index, count;
  unsigned long long value;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, class, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_read(session, handle, &value));
  OK(MPI_T_pvar_handle_free(session, &handle));
  return value;
}
static unsigned long long bytes_of(const char* name) {
  return read_variable(name, MPI_T_PVAR_CLASS_LEVEL);
}
static void expect(const char* name, unsigned long long least) {
  while (bytes_of(name) < least) usleep(1000);
}

static void on_stack(unsigned long long here) {
  char buffer[kBytes];
  memset(buffer, 1, sizeof buffer);
  __asm__ volatile("" : : "r"(buffer) : "memory");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  expect("memory_stacks", here * kBytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  int provided, here, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPIX_Get_collocated_size(&here));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const unsigned long long ranks = (unsigned)here;

  on_stack(ranks);
  memset(globals, 1, sizeof globals);
  char* heap = malloc(kBytes);
  memset(heap, 1, kBytes);
  MPI_Comm copies[kMany];
  MPI_Request requests[kMany];
  const unsigned long long comms_before = bytes_of("memory_communicators");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kMany; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]));
  for (int i = 0; i < kMany; ++i)
    OK(MPI_Irecv(globals + i, 1, MPI_CHAR, MPI_ANY_SOURCE, i, MPI_COMM_SELF, &requests[i]));
  char* window_base;
  MPI_Win window;
  OK(MPI_Win_allocate_shared(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_base, &window));
  memset(window_base, 1, kBytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  expect("memory_images", (ranks - 1) * kBytes); /* one rank has the program's own */
#ifndef __SANITIZE_ADDRESS__
  expect("memory_heap", ranks * kBytes);
#endif
  if (here < size) expect("memory_shared", ranks * kBytes); /* one process shares with nobody */
  expect("memory_communicators", comms_before + kMany * 64 * ranks);
  expect("memory_requests", kMany * 64 * ranks);
  const unsigned long long now = bytes_of("memory_resident");
  CHECK(now >= (2 * ranks - 1) * kBytes);
  CHECK(read_variable("memory_resident_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK) + (1 << 20) >= now);
  OK(MPI_Barrier(MPI_COMM_WORLD));

  for (int i = 0; i < kMany; ++i) {
    OK(MPI_Send(&(char){1}, 1, MPI_CHAR, 0, i, MPI_COMM_SELF));
    OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&copies[i]));
  }
  OK(MPI_Win_free(&window));
  free(heap);
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return finish();
}
