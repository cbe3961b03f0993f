/* More than 2^31 bytes in one message (where memory allows): as more than 2^31 elements of a basic
 * and of a derived type, as one element of a contiguous type, and as one element with gaps. */
#include "mpitest.h"

static const MPI_Count n = ((MPI_Count)1 << 31) + 1234567;

/* Is there that much memory, in MiB, for all? Else says so. */
static int memory(long long mebibytes) {
  long long available = 0;
  int enough, all, rank;
  char line[200];
  FILE* f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %lld kB", &available) == 1) break;
  if (f) fclose(f);
  enough = available / 1024 > mebibytes;
  OK(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!all && rank == 0)
    printf("skipped: %lld MiB of memory are available, %lld are needed\n", available / 1024,
           mebibytes);
  return all;
}

static char mark(MPI_Count i, int turn) { return (char)((i >> 12) + turn); }

/* One message of `count` elements of `type`, `bytes` in all, each byte i of it at i + i / run * gap
 * of the buffer. */
static void message(MPI_Count count, MPI_Datatype type, MPI_Count bytes, MPI_Count run,
                    MPI_Count gap, int turn) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1 || (rank && rank != size - 1)) return;
  char* b = malloc(bytes + bytes / run * gap + gap);
  CHECK(b);
  if (rank == 0) {
    for (MPI_Count i = 0; i < bytes; i += 4096) b[i + i / run * gap] = mark(i, turn);
    b[bytes - 1 + (bytes - 1) / run * gap] = (char)(99 + turn);
    OK(MPI_Send_c(b, count, type, size - 1, 3, MPI_COMM_WORLD));
  } else {
    MPI_Status s;
    MPI_Count elements;
    int small;
    if (gap) b[run] = 'g'; /* in the first gap */
    OK(MPI_Recv_c(b, count, type, 0, 3, MPI_COMM_WORLD, &s));
    OK(MPI_Get_count_c(&s, type, &elements));
    CHECK(elements == count);
    OK(MPI_Get_count(&s, MPI_CHAR, &small));
    CHECK(small == MPI_UNDEFINED && b[bytes - 1 + (bytes - 1) / run * gap] == (char)(99 + turn));
    OK(MPI_Get_elements_c(&s, type, &elements));
    CHECK(elements == bytes);
    for (MPI_Count i = 0; i < bytes - 1; i += 4096 * 1001)
      CHECK(b[i + i / run * gap] == mark(i, turn));
    if (gap) CHECK(b[run] == 'g');
  }
  free(b);
}

int main(int argc, char** argv) {
  MPI_Datatype single, whole, gaps;
  MPI_Init(&argc, &argv);
  OK(MPI_Type_contiguous(1, MPI_CHAR, &single));
  OK(MPI_Type_commit(&single));
  OK(MPI_Type_contiguous_c(n, MPI_CHAR, &whole));
  OK(MPI_Type_commit(&whole));
  OK(MPI_Type_vector_c(n / 4096 + 1, 4096, 4096 + 64, MPI_CHAR, &gaps));
  OK(MPI_Type_commit(&gaps));
  if (memory(6 << 10)) {
    message(n, MPI_CHAR, n, n, 0, 0);
    message(n, single, n, n, 0, 1);
    message(1, whole, n, n, 0, 2);
  }
  if (memory(12 << 10))
    message(1, gaps, (n / 4096 + 1) * 4096, 4096, 64, 3); /* packed on both sides */
  OK(MPI_Type_free(&single));
  OK(MPI_Type_free(&whole));
  OK(MPI_Type_free(&gaps));
  return finish();
}
