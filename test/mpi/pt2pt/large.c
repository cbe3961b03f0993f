/* More than 2^31 bytes, and more than 2^31 elements, in one message (where memory allows). */
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size;
  MPI_Count n = ((MPI_Count)1 << 31) + 1234567, elements;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long long available = 0;
  FILE* f = fopen("/proc/meminfo", "r");
  char line[200];
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %lld kB", &available) == 1) break;
  if (f) fclose(f);
  int enough = available > 6ll << 20, all;
  OK(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (all && size > 1 && (rank == 0 || rank == size - 1)) {
    char* b = malloc(n);
    CHECK(b);
    if (rank == 0) {
      for (MPI_Count i = 0; i < n; i += 4096) b[i] = (char)(i >> 12);
      b[n - 1] = 99;
      OK(MPI_Send_c(b, n, MPI_CHAR, size - 1, 3, MPI_COMM_WORLD));
    } else {
      MPI_Status s;
      int small;
      OK(MPI_Recv_c(b, n, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &s));
      OK(MPI_Get_count_c(&s, MPI_CHAR, &elements));
      OK(MPI_Get_count(&s, MPI_CHAR, &small));
      CHECK(elements == n && small == MPI_UNDEFINED && b[n - 1] == 99);
      for (MPI_Count i = 0; i < n - 1; i += 4096 * 1001) CHECK(b[i] == (char)(i >> 12));
    }
    free(b);
  }
  return finish();
}
