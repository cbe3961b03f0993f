/* Counts just below and above 2^31 bytes and 2^29 integers as whole transfers, and ordered writes
 * beyond INT_MAX. Memory is a few MiB that are mapped again and again; the file lives in memory,
 * where there is room for it. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "filetest.h"

/* No divisor of 2^31 or 2^32 but a page: data that land so far off are not what was expected. */
enum { kPeriod = (4 << 20) + 4096 };
static const int64_t kSpace = ((int64_t)1 << 31) + 2 * kPeriod;

/* Addresses of kSpace bytes, byte i of which is byte i % kPeriod of `descriptor`. */
static char* repeated(int descriptor) {
  char* space =
      mmap(NULL, (size_t)kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(space != MAP_FAILED);
  for (int64_t at = 0; at + kPeriod <= kSpace; at += kPeriod)
    CHECK(mmap(space + at, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor,
               0) != MAP_FAILED);
  return space;
}

static char* pattern(void) {
  const int descriptor = memfd_create("pattern", 0);
  CHECK(descriptor >= 0 && ftruncate(descriptor, kPeriod) == 0);
  char* space = repeated(descriptor);
  close(descriptor);
  for (int i = 0; i < kPeriod; i += 4) memcpy(space + i, &(int){i * 2654435761u}, 4);
  return space;
}

/* What the file has around an offset is the pattern's. */
static void expect_at(MPI_File f, const char* space, MPI_Offset at, int n) {
  char got[64];
  MPI_Status s;
  OK(MPI_File_read_at(f, at, got, n, MPI_BYTE, &s));
  CHECK(count_of(&s, MPI_BYTE) == n && !memcmp(got, space + at % kPeriod, (size_t)n));
}

/* Writes `bytes` bytes in one call, and reads the ends; `reads`: and all of them in one call. */
static void whole(const char* space, int64_t bytes, MPI_Datatype type, int reads) {
  MPI_File f;
  MPI_Status s;
  MPI_Offset end;
  MPI_Count n;
  int unit;
  OK(MPI_Type_size(type, &unit));
  OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  OK(MPI_File_write_at_c(f, 0, space, bytes / unit, type, &s));
  OK(MPI_Get_count_c(&s, type, &n));
  CHECK(n == bytes / unit);
  OK(MPI_File_get_size(f, &end));
  CHECK(end == bytes);
  for (int64_t at = 0; at + 64 <= bytes; at += (int64_t)1 << 28) expect_at(f, space, at + 4, 32);
  expect_at(f, space, bytes - 32, 32);
  if (reads) {
    const int memory = memfd_create("back", 0);
    CHECK(memory >= 0 && ftruncate(memory, kPeriod) == 0);
    char* all = repeated(memory);
    close(memory);
    OK(MPI_File_read_at_c(f, 0, all, bytes / unit, type, &s));
    OK(MPI_Get_count_c(&s, type, &n));
    CHECK(n == bytes / unit && !memcmp(all, space, kPeriod));
    munmap(all, (size_t)kSpace);
  }
  OK(MPI_File_close(&f));
}

/* The counts alone, of what the kernel throws away. */
static void counted(const char* space, int64_t bytes, MPI_Datatype type) {
  MPI_File f;
  MPI_Status s;
  MPI_Count n;
  int unit;
  OK(MPI_Type_size(type, &unit));
  OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &f));
  OK(MPI_File_write_at_c(f, 0, space, bytes / unit, type, &s));
  OK(MPI_Get_count_c(&s, type, &n));
  CHECK(n == bytes / unit);
  OK(MPI_File_close(&f));
}

/* Rank 0 has more than INT_MAX bytes, the others a few behind them. */
static void ordered(const char* space) {
  const MPI_Count bytes = rank == 0 ? (MPI_Count)INT_MAX + 10 : 16;
  MPI_File f;
  MPI_Status s;
  MPI_Offset at;
  MPI_Count n;
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &f));
  OK(MPI_File_write_ordered_c(f, space, bytes, MPI_BYTE, &s));
  OK(MPI_Get_count_c(&s, MPI_BYTE, &n));
  CHECK(n == bytes);
  OK(MPI_File_get_position_shared(f, &at));
  CHECK(at == (MPI_Offset)INT_MAX + 10 + 16 * (size - 1));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) expect_at(f, space, (MPI_Offset)INT_MAX - 20, 30);
  char got[16];
  /* Their own: those of others are seen only after MPI_File_sync. */
  const MPI_Offset own = rank > 0 ? (MPI_Offset)INT_MAX + 10 + 16 * (rank - 1) : 0;
  OK(MPI_File_read_at(f, own, got, 16, MPI_BYTE, &s));
  CHECK(count_of(&s, MPI_BYTE) == 16 && !memcmp(got, space, 16));
  OK(MPI_File_close(&f));
}

int main(int argc, char** argv) {
  start(&argc, &argv, "large");
  int job = getpid();
  OK(MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD));
  struct statvfs about;
  int room = statvfs("/dev/shm", &about) == 0 &&
             (int64_t)about.f_bavail * (int64_t)about.f_frsize > (int64_t)4 << 30;
  OK(MPI_Bcast(&room, 1, MPI_INT, 0, MPI_COMM_WORLD));
  snprintf(name, sizeof name, "/dev/shm/fgmpi_large_%d", job);
  if (!room) {
    if (rank == 0) printf("/dev/shm has no room for 4 GiB: not tested\n");
    return finish();
  }
  char* space = pattern();
  if (size == 1) {
    whole(space, ((int64_t)1 << 31) - 1, MPI_BYTE, 0);
    whole(space, ((int64_t)1 << 31) + 4, MPI_INT, 1);
    OK(MPI_File_delete(name, MPI_INFO_NULL));
  } else {
    ordered(space);
  }
  if (rank == 0)
    for (int d = -4; d <= 4; d += 4) {
      counted(space, ((int64_t)1 << 31) + d, MPI_INT);
      counted(space, ((int64_t)1 << 31) + d / 4, MPI_BYTE);
      counted(space, ((int64_t)1 << 29) + d, MPI_INT);
    }
  munmap(space, (size_t)kSpace);
  return finish();
}
