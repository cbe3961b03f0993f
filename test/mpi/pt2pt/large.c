/* More than 2^31 bytes in one message, as more than 2^31 elements of a basic and of a derived type (where memory allows). */
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
  if (!all && rank == 0)
    printf("skipped: %lld MiB of memory are available, 6 GiB are needed\n", available / 1024);
  if (all && size > 1 && (rank == 0 || rank == size - 1)) {
    MPI_Datatype single;
    char* b = malloc(n);
    CHECK(b);
    OK(MPI_Type_contiguous(1, MPI_CHAR, &single));
    OK(MPI_Type_commit(&single));
    for (int derived = 0; derived < 2; derived++) {
      MPI_Datatype type = derived ? single : MPI_CHAR;
      if (rank == 0) {
        for (MPI_Count i = 0; i < n; i += 4096) b[i] = (char)((i >> 12) + derived);
        b[n - 1] = (char)(99 + derived);
        OK(MPI_Send_c(b, n, type, size - 1, 3, MPI_COMM_WORLD));
      } else {
        MPI_Status s;
        int small;
        OK(MPI_Recv_c(b, n, type, 0, 3, MPI_COMM_WORLD, &s));
        OK(MPI_Get_count_c(&s, type, &elements));
        CHECK(elements == n);
        OK(MPI_Get_count(&s, MPI_CHAR, &small));
        CHECK(small == MPI_UNDEFINED && b[n - 1] == (char)(99 + derived));
        OK(MPI_Get_elements_c(&s, type, &elements));
        CHECK(elements == n);
        for (MPI_Count i = 0; i < n - 1; i += 4096 * 1001) CHECK(b[i] == (char)((i >> 12) + derived));
      }
    }
    OK(MPI_Type_free(&single));
    free(b);
  }
  return finish();
}
