/* FGMPI_HEAP=rank: mappings of files and shared ones that a rank leaves are unmapped when it ends; those of others, and those that
 * were moved, stay. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 1 << 16 };

static int rank;

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* How many mappings of the process are of files whose names contain the text? */
static int mappings_of(const char* text) {
  char line[1000];
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  check(maps != NULL, "/proc/self/maps");
  while (fgets(line, sizeof line, maps)) count += strstr(line, text) != NULL;
  fclose(maps);
  return count;
}

int main(int argc, char** argv) {
  char text[50], name[100];
  long id = getpid();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  snprintf(text, sizeof text, "fgmpi-unmapped-%ld-", id);
  snprintf(name, sizeof name, "/tmp/%s%d", text, rank);
  const int fd = open(name, O_RDWR | O_CREAT, 0600);
  check(fd >= 0 && ftruncate(fd, kBytes) == 0, "open");
  char* own = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  char* shared = mmap(NULL, kBytes / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  check(own != MAP_FAILED && shared != MAP_FAILED, "mmap");
  own[0] = (char)rank;
  shared[1] = (char)(rank + 1);
  shared = mremap(shared, kBytes / 2, kBytes, MREMAP_MAYMOVE);
  check(shared != MAP_FAILED && shared[1] == (char)(rank + 1), "mremap");
  check(munmap(own + kBytes / 2, kBytes / 2) == 0, "munmap");
  close(fd);
  unlink(name);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank > 0) return 0;
  const char* heap = getenv("FGMPI_HEAP");
  for (int tries = 0; heap && !strcmp(heap, "rank") && mappings_of(text) > 2; ++tries) {
    check(tries < 1000, "mappings of ranks that have ended stay");
    usleep(10000); /* lets others run to their ends */
  }
  check(mappings_of(text) >= 2, "mappings of a rank that has not ended are gone");
  return own[0] == 0 && shared[1] == 1 ? 0 : 3;
}
