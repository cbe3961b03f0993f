/* More than 2^31 bytes in one message (where memory allows): as more than 2^31 elements of a basic
 * and of a derived type, as one element of a contiguous type, and as one element with gaps. The
 * first use of memory may be slow: the sender's is a few MiB that are mapped again and again, the
 * receiver's is the same for all messages. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

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

/* Address space of `bytes` or more, in which the byte at i is also the byte at i + `period`. */
static char* repeated(MPI_Count bytes, MPI_Count period) {
  const int fd = memfd_create("repeated", 0);
  CHECK(fd >= 0 && ftruncate(fd, period) == 0);
  char* all =
      mmap(NULL, bytes + period, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(all != MAP_FAILED);
  for (MPI_Count at = 0; at < bytes; at += period)
    CHECK(mmap(all + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
          all + at);
  close(fd);
  return all;
}

/* One message of `count` elements of `type`, `bytes` in all, in pages with `gap` bytes after each.
 * The receiver's memory is `b`. */
static void message(char* b, MPI_Count count, MPI_Datatype type, MPI_Count bytes, MPI_Count gap,
                    int turn) {
  const MPI_Count page = 4096, extent = bytes + bytes / page * gap;
  const MPI_Count end = bytes - 1 + (bytes - 1) / page * gap;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    const MPI_Count period = page * (page + gap); /* as many pages: marks are the same again */
    b = repeated(extent, period);
    for (MPI_Count i = 0; i < page; ++i) b[i * (page + gap)] = mark(i * page, turn);
    b[end] = (char)(99 + turn);
    OK(MPI_Send_c(b, count, type, size - 1, 3, MPI_COMM_WORLD));
    munmap(b, extent + period);
  } else {
    MPI_Status s;
    MPI_Count elements;
    int small;
    if (gap) b[page] = 'g'; /* in the first gap */
    OK(MPI_Recv_c(b, count, type, 0, 3, MPI_COMM_WORLD, &s));
    OK(MPI_Get_count_c(&s, type, &elements));
    CHECK(elements == count);
    OK(MPI_Get_count(&s, MPI_CHAR, &small));
    CHECK(small == MPI_UNDEFINED && b[end] == (char)(99 + turn));
    OK(MPI_Get_elements_c(&s, type, &elements));
    CHECK(elements == bytes);
    for (MPI_Count i = 0; i < bytes - 1; i += page * 1001)
      CHECK(b[i + i / page * gap] == mark(i, turn));
    if (gap) CHECK(b[page] == 'g');
  }
}

int main(int argc, char** argv) {
  const MPI_Count pages = n / 4096 + 1;
  char* b = NULL;
  int rank, size;
  MPI_Datatype single, whole, gaps;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Type_contiguous(1, MPI_CHAR, &single));
  OK(MPI_Type_commit(&single));
  OK(MPI_Type_contiguous_c(n, MPI_CHAR, &whole));
  OK(MPI_Type_commit(&whole));
  OK(MPI_Type_vector_c(pages, 4096, 4096 + 64, MPI_CHAR, &gaps));
  OK(MPI_Type_commit(&gaps));
  const int enough = memory(4 << 10), plenty = memory(9 << 10);
  if (size > 1 && (rank == 0 || rank == size - 1)) {
    if (rank) {
      b = mmap(NULL, pages * 4160, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      CHECK(b != MAP_FAILED);
    }
    if (enough) {
      message(b, n, MPI_CHAR, n, 0, 0);
      message(b, n, single, n, 0, 1);
      message(b, 1, whole, n, 0, 2);
    }
    if (plenty) message(b, 1, gaps, pages * 4096, 64, 3); /* packed on both sides */
    if (rank) munmap(b, pages * 4160);
  }
  OK(MPI_Type_free(&single));
  OK(MPI_Type_free(&whole));
  OK(MPI_Type_free(&gaps));
  return finish();
}
