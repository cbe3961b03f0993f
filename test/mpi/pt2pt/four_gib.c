/* One message of more than 2^32 bytes between the first and the last rank, all of it checked.
 * MESSAGE_BYTES: its size (default 2^32 + 4099); each of the two needs as much memory. */
#include <stdint.h>

#include "mpitest.h"

/* What is to be at word i of the message. */
static uint64_t word(uint64_t i) { return i * 0x9e3779b97f4a7c15u ^ i >> 7; }

static long long available_bytes(void) {
  long long kilobytes = 0;
  char line[200];
  FILE* f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) break;
  if (f) fclose(f);
  return kilobytes * 1024;
}

int main(int argc, char** argv) {
  const char* setting = getenv("MESSAGE_BYTES");
  const MPI_Count bytes = setting ? atoll(setting) : ((MPI_Count)1 << 32) + 4099;
  const uint64_t words = (uint64_t)bytes / 8;
  int rank, size, enough, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  enough = available_bytes() / 5 * 2 > bytes;
  OK(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (!all && rank == 0)
    printf("skipped: too little memory for two times %lld bytes\n", (long long)bytes);
  if (all && size > 1 && (rank == 0 || rank == size - 1)) {
    char* b = malloc((size_t)bytes);
    uint64_t* w = (uint64_t*)b;
    CHECK(b);
    if (rank == 0) {
      for (uint64_t i = 0; i < words; i++) w[i] = word(i);
      for (MPI_Count i = (MPI_Count)words * 8; i < bytes; i++) b[i] = (char)i;
      double start = MPI_Wtime();
      OK(MPI_Ssend_c(b, bytes, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD));
      double t = MPI_Wtime() - start;
      printf("%lld bytes in %.2f s, %.2f GB/s\n", (long long)bytes, t, (double)bytes / t * 1e-9);
    } else {
      MPI_Status s;
      MPI_Count got;
      OK(MPI_Recv_c(b, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &s));
      OK(MPI_Get_count_c(&s, MPI_BYTE, &got));
      CHECK(got == bytes);
      for (uint64_t i = 0; i < words; i++) CHECK(w[i] == word(i));
      for (MPI_Count i = (MPI_Count)words * 8; i < bytes; i++) CHECK(b[i] == (char)i);
    }
    free(b);
  }
  return finish();
}
