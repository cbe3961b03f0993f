// Reads a file and changes shared memory a step at a time, over many MPI calls, so that snapshots of
// the repeated run lie between steps: places FILE. What is not as it was behind the step before is
// printed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kSteps = 500, kBytes = 100 };

static int* map_memory(int fd) {
  if (fd < 0 || ftruncate(fd, 4096) != 0) abort();
  int* at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) abort();
  return at;
}

int main(int argc, char** argv) {
  int rank;
  char name[100], bytes[kBytes], before[kBytes] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int file = open(argv[1], O_RDONLY), same = dup(file), other = open(argv[1], O_RDONLY);
  snprintf(name, sizeof name, "/fgmpi-places-%d", (int)getpid());
  const int named = shm_open(name, O_RDWR | O_CREAT, 0600), nameless = memfd_create("places", 0);
  int* cells[4] = {map_memory(named), map_memory(nameless), map_memory(nameless), NULL};
  cells[3] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  close(nameless);
  for (int step = 0; step < kSteps; ++step) {
    // Two descriptors have one place, a third has its own.
    if (read(step % 2 ? file : same, bytes, kBytes) != kBytes) abort();
    if (step % 5 == 0 && read(other, bytes, kBytes) != kBytes) abort();
    if (memcmp(before, bytes, kBytes) == 0) printf("%d: the same bytes at step %d\n", rank, step);
    if (lseek(file, 0, SEEK_CUR) != (step + 1) * (off_t)kBytes)
      printf("%d: another place at step %d\n", rank, step);
    memcpy(before, bytes, kBytes);
    ++cells[0][rank];
    ++cells[1 + step % 2][rank];
    ++cells[3][rank];
    int in_file = -1;
    if (pread(named, &in_file, sizeof in_file, rank * (off_t)sizeof in_file) != sizeof in_file)
      abort();
    if (cells[0][rank] != in_file || cells[2][rank] != step + 1 || cells[3][rank] != step + 1)
      printf("%d: %d, %d, %d at step %d\n", rank, in_file, cells[2][rank], cells[3][rank], step);
    volatile double sum = 0;
    for (int i = 0; i < 50000; ++i) sum += i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  printf("%d: %d %d %d\n", rank, cells[0][rank], cells[1][rank], cells[3][rank]);
  if (rank == 0 && shm_unlink(name) != 0) abort();
  MPI_Finalize();
  return 0;
}
