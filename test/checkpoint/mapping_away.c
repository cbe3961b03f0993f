/* Ranks map files, share memory and protect pages while they are in another process than they have begun in (FGMPI_BALANCE). They have
 * it from then on, MPI reads and writes it wherever it makes the calls, and MPI_Finalize and the code behind it find it. With an
 * argument, ranks must have been elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 4, kBytes = kPage * kPages };

static int rank, size, must;
static pid_t home;

#define CHECK(holds)                                                                         \
  do {                                                                                       \
    if (!(holds)) {                                                                          \
      fprintf(stderr, "%s:%d: rank %d (%d): expected %s\n", __FILE__, __LINE__, rank, errno, \
              #holds);                                                                       \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
    }                                                                                        \
  } while (0)

static int is_away(void) { return (pid_t)syscall(SYS_getpid) != home; }

/* Probes until the rank is elsewhere. What keeps a rank at home, such as a mapping, must be gone. */
static void go_away(void) {
  int flag;
  while (must && !is_away()) MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static char* map(void* at, size_t bytes, int protection, int flags, int fd) {
  char* const got = mmap(at, bytes, protection, flags, fd, 0);
  CHECK(got != MAP_FAILED);
  CHECK(!is_away());
  return got;
}

/* Collective calls are made at home. All ranks have such memory. */
static void use(char* memory) {
  int in = rank, *sum = (int*)memory;
  CHECK(MPI_Allreduce(&in, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(*sum == size * (size - 1) / 2);
  *sum = rank == size - 1 ? 4711 : 0;
  MPI_Bcast(sum, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  CHECK(*sum == 4711);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  memory[100] = (char)rank;
  MPI_Sendrecv(memory + 100, 1, MPI_CHAR, right, 5, memory + 200, 1, MPI_CHAR, left, 5,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(memory[200] == (char)left);
}

static int make_file(const char* begin) {
  char name[100];
  snprintf(name, sizeof name, "%s.%d.%d", begin, (int)home, rank);
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0 && unlink(name) == 0 && ftruncate(fd, kBytes) == 0);
  CHECK(pwrite(fd, "first", 5, 0) == 5);
  return fd;
}

/* Each kind of mapping, given back before the next one, so that the rank can leave again. */
static void map_and_give_back(int fd) {
  const int both = PROT_READ | PROT_WRITE;
  for (int kind = 0; kind < 5; ++kind) {
    go_away();
    char* at = NULL;
    if (kind == 0) at = map(NULL, kBytes, both, MAP_SHARED, fd);
    if (kind == 1) at = map(NULL, kBytes, both, MAP_PRIVATE, fd);
    if (kind == 2) at = map(NULL, kBytes, both, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (kind == 3) /* more than a slot has */
      at = map(NULL, (size_t)300 << 30, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (kind == 4)
      at = map((void*)(UINT64_C(0x620000000000) + UINT64_C(0x100000000) * (unsigned)rank), kBytes,
               both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
    CHECK(kind > 1 || !memcmp(at, "first", 5));
    use(at);
    CHECK(munmap(at, kind == 3 ? (size_t)300 << 30 : kBytes) == 0);
    if (kind == 0) CHECK(pwrite(fd, "first", 5, 0) == 5);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  home = (pid_t)syscall(SYS_getpid);
  must = argc > 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int fd = make_file("mapping_away");
  map_and_give_back(fd);
  /* Plain memory of the slot goes along: a rank stays where it is for it. */
  go_away();
  char* const plain =
      mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(plain != MAP_FAILED && is_away() == must);
  use(plain);
  /* What stays until the end keeps the rank at home. */
  go_away();
  char* const file = map(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  CHECK(mprotect(plain + kPage, kPage, PROT_READ) == 0);
  if (rank % 2) CHECK(munmap(file, kBytes) == 0);
  use(plain);
  use(rank % 2 ? plain : file);
  MPI_Finalize();
  CHECK(plain[100] == (char)rank && (rank % 2 || file[100] == (char)rank));
  if (rank == 0) printf("No Errors\n");
  return 0;
}
