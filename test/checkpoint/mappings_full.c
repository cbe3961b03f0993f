/* Ranks that move (FGMPI_BALANCE) in a job whose processes have no mappings left for further visitors (vm.max_map_count): a rank goes
 * on where it is, and those that have been in a process before still go there. With an argument, ranks must have moved before. A second
 * one is how many mappings are left: few, so that the system itself refuses some. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kSteps = 60, kPage = 4096 };

static int rank, size;
static pid_t home;

#define CHECK(holds)                                                                      \
  do {                                                                                    \
    if (!(holds)) {                                                                       \
      fprintf(stderr, "%s:%d: rank %d: expected %s\n", __FILE__, __LINE__, rank, #holds); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                       \
    }                                                                                     \
  } while (0)

/* A rank moves at the beginning of a call. */
static int away;
#define CALL(call)                              \
  do {                                          \
    CHECK(call == MPI_SUCCESS);                 \
    away |= (pid_t)syscall(SYS_getpid) != home; \
  } while (0)

/* Around the ring, and a sum. */
static void step(int number) {
  int got = -1, sum = 0;
  const int mine = rank + number, left = (rank + size - 1) % size;
  CALL(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT, left, 3,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(got == left + number);
  CALL(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2 + size * number);
}

static int count(int is) {
  int all = 0;
  CALL(MPI_Allreduce(&is, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return all;
}

/* Is this the first rank of those whose home is this process? */
static int is_first(void) {
  int homes[1024];
  CHECK(size <= 1024);
  CALL(MPI_Allgather(&home, 1, MPI_INT, homes, 1, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < rank; ++i)
    if (homes[i] == home) return 0;
  return 1;
}

static long lines(const char* path) {
  FILE* file = fopen(path, "r");
  CHECK(file);
  long n = 0;
  for (int c; (c = getc(file)) != EOF;) n += c == '\n';
  fclose(file);
  return n;
}

/* Takes mappings of this process, of which the library knows nothing, until so many are left. */
static void fill(int left) {
  long most = 0;
  FILE* file = fopen("/proc/sys/vm/max_map_count", "r");
  CHECK(file && fscanf(file, "%ld", &most) == 1);
  fclose(file);
  const long pages = most - left - lines("/proc/self/maps");
  CHECK(pages > 0);
  char* at = (char*)syscall(SYS_mmap, NULL, pages * kPage, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  CHECK(at != (char*)MAP_FAILED);
  for (long i = 0; i < pages; i += 2)
    CHECK(syscall(SYS_mprotect, at + i * kPage, kPage, PROT_READ) == 0);
}

int main(int argc, char** argv) {
  const int left = argc > 2 ? atoi(argv[2]) : 1500;
  MPI_Init(&argc, &argv);
  home = (pid_t)syscall(SYS_getpid);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  step(0);
  /* With shared memory, a rank is at home and stays there. */
  if (is_first()) {
    void* shared = mmap(NULL, kPage, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED && (pid_t)syscall(SYS_getpid) == home);
    fill(left);
    if (argc < 3) usleep(300000); /* mappings are counted now and then */
    CHECK(munmap(shared, kPage) == 0);
  }
  CALL(MPI_Barrier(MPI_COMM_WORLD));
  const int before = away;
  away = 0;
  for (int i = 1; i < kSteps; ++i) step(i);
  const int behind = away;
  const int late = count(behind && !before);
  const int some = count(before), again = count(behind);
  /* Those that have been there go on moving. Of the others, a few had been given room before, and could not go then; where
   * mappings were not counted again, some take those that are left, at least three each. */
  const int processes = count(is_first());
  if (argc > 1) CHECK(some > 0 && some < size && again > 0);
  if (argc > 1) CHECK(4 * late < size - some || (argc > 2 && 3 * late <= processes * left));
  MPI_Finalize();
  if (rank == 0) printf("No Errors\n");
  return 0;
}
