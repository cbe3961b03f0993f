/* Overwrites memory: a receive buffer on the heap, in a mapping, on the stack or in a static
   variable is smaller than its message, or everything that may be written but the program's own and
   the C library's variables is filled. Run by overruns.sh. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "mpitest.h"

static char small_static[64];

static void receive(void* buffer, int bytes) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void receive_on_stack(int bytes) {
  char buffer[64];
  receive(buffer, bytes);
  __asm__ volatile("" : : "r"(buffer) : "memory");
}

/* The heap and mappings without a file, in which the library has its ranks, messages and queues:
   not the stack that is in use, nor static and per-thread variables of the C library and others. */
static void fill_memory(int value) {
  static struct { uintptr_t low, high; } found[4096];
  static char line[512];
  uintptr_t end_of_file = 0;
  int count = 0;
  char here;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && count < 4096 && fgets(line, sizeof line, maps)) {
    uintptr_t low, high;
    char permissions[8], path[256] = "";
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %*s %255s", &low, &high, permissions,
               path) < 3)
      continue;
    const int of_file = path[0] == '/' || (!path[0] && low == end_of_file);
    if (of_file) end_of_file = high;
    if (strncmp(permissions, "rw-p", 4) != 0 || of_file || (path[0] && strcmp(path, "[heap]") != 0))
      continue;
    uintptr_t own[] = {(uintptr_t)&here, (uintptr_t)&errno, (uintptr_t)small_static,
                       (uintptr_t)found};
    int keep = 0;
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++) keep |= own[i] - low < high - low;
    if (keep) continue;
    found[count].low = low;
    found[count++].high = high;
  }
  /* Not fclose(): nothing of the heap is to be used any more. Of a large mapping, what was touched
   * lies at its ends. */
  for (int i = 0; i < count; i++) {
    uintptr_t bytes = found[i].high - found[i].low, part = bytes < (4u << 20) ? bytes : 4u << 20;
    memset((void*)found[i].low, value, part);
    memset((void*)(found[i].high - part), value, part);
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int bytes = argc > 2 ? atoi(argv[2]) : 64,
            value = argc > 3 ? (int)strtol(argv[3], NULL, 0) : 0x41;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request requests[4];
  static int numbers[4], received[4];
  char* blocks[50];
  for (int i = 0; i < 50; i++) blocks[i] = malloc(32);
  for (int i = 0; i < 4; i++)
    MPI_Irecv(&received[i], 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "fill") == 0) {
    if (rank == size - 1) fill_memory(value);
  } else if (rank == 0) {
    char* message = malloc((size_t)bytes);
    memset(message, value, (size_t)bytes);
    MPI_Send(message, bytes, MPI_BYTE, size - 1, 1, MPI_COMM_WORLD);
  } else if (rank == size - 1) {
    if (strcmp(how, "heap") == 0) receive(blocks[20], bytes);
    if (strcmp(how, "mapped") == 0) receive(malloc(200000), bytes);
    if (strcmp(how, "stack") == 0) receive_on_stack(bytes);
    if (strcmp(how, "static") == 0) receive(small_static, bytes);
  }
  for (int i = 0; i < 4; i++)
    MPI_Send(&numbers[i], 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
  MPI_Status statuses[4];
  MPI_Waitall(4, requests, statuses);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Allreduce(numbers, received, 4, MPI_INT, MPI_SUM, copy);
  MPI_Comm_free(&copy);
  for (int i = 0; i < 50; i++) free(blocks[i]);
  MPI_Finalize();
  return 0;
}
