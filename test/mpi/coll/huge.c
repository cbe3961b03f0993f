/* More than 2^31 bytes in one call, in little memory: a buffer is one small piece of memory mapped
 * again and again, so that it is as long as needed and the same at every period. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpitest.h"

enum { kPeriod = 16 << 20, kPeriods = 129 };
static const MPI_Count kBytes = (MPI_Count)kPeriod * kPeriods - 5;

static unsigned char* repeated(void) {
  int fd = memfd_create("huge", 0);
  CHECK(fd >= 0 && ftruncate(fd, kPeriod) == 0);
  size_t length = (size_t)kPeriod * kPeriods;
  unsigned char* all = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(all != MAP_FAILED);
  for (int i = 0; i < kPeriods; ++i)
    CHECK(mmap(all + (size_t)i * kPeriod, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
               fd, 0) != MAP_FAILED);
  close(fd);
  return all;
}

static unsigned char expected(size_t i) { return (unsigned char)(i * 7 + i / 4096); }

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  unsigned char* data = repeated();
  for (size_t i = 0; rank == size - 1 && i < kPeriod; ++i) data[i] = expected(i);
  OK(MPI_Bcast_c(data, kBytes, MPI_BYTE, size - 1, MPI_COMM_WORLD));
  for (size_t i = 0; i < kPeriod; i += 61) CHECK(data[i] == expected(i));

  munmap(data, (size_t)kPeriod * kPeriods);
  return finish();
}
