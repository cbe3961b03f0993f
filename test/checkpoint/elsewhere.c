/* What a rank has loaded or mapped so that it cannot be saved: it is refused while it is there, and only then.
 * elsewhere LIBRARY: one with thread-local variables. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint.h"

enum { kBytes = 1 << 16 };

static void refused(void) {
  int flag = -1;
  CHECK(MPIX_Checkpoint(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == MPIX_CHECKPOINT_NONE);
}

static void library(const char* name) {
  void* handle = rank == size - 1 ? dlopen(name, RTLD_NOW) : NULL;
  CHECK(rank != size - 1 || handle);
  refused();
  if (handle) CHECK(dlclose(handle) == 0);
  checkpoint();
}

static void mapping(void* at, int flags, int fd) {
  char* mapped = NULL;
  if (rank == size - 1) {
    mapped = mmap(at, kBytes, PROT_READ, flags, fd, 0);
    CHECK(mapped != MAP_FAILED);
  }
  refused();
  if (mapped) { /* a part of it, then the rest */
    CHECK(munmap(mapped, kBytes / 2) == 0);
  }
  refused();
  if (mapped) CHECK(munmap(mapped + kBytes / 2, kBytes / 2) == 0);
  checkpoint();
}

/* The descriptor of a removed file keeps a rank, too: the file is only mapped. All ranks have one: the first tells of its own. */
static void mapping_of_removed(int fd) {
  char* const mapped = mmap(NULL, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  CHECK(mapped != MAP_FAILED);
  close(fd);
  refused();
  CHECK(munmap(mapped, kBytes) == 0);
  checkpoint();
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  library(argc > 1 ? argv[1] : "./local.so");
  library("libanl.so.1");
  char name[100];
  snprintf(name, sizeof name, "elsewhere.%d.%d", rank, (int)getpid());
  const int fd = open(name, O_RDWR | O_CREAT, 0600);
  CHECK(fd >= 0 && ftruncate(fd, kBytes) == 0);
  char gone[100];
  snprintf(gone, sizeof gone, "gone.%d.%d", rank, (int)getpid());
  const int removed = open(gone, O_RDWR | O_CREAT, 0600);
  CHECK(removed >= 0 && ftruncate(removed, kBytes) == 0 && unlink(gone) == 0);
  mapping_of_removed(removed);
  const int device = open("/dev/zero", O_RDONLY);
  mapping(NULL, MAP_PRIVATE, device);
  close(device);
  mapping((void*)(UINT64_C(0x620000000000) + UINT64_C(0x100000000) * (unsigned)rank),
          MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd);
  mapping(NULL, MAP_SHARED | MAP_ANONYMOUS, -1);
  mapping((void*)(UINT64_C(0x610000000000) + UINT64_C(0x100000000) * (unsigned)rank),
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
  /* A reservation of which parts are taken into use and given up. */
  char* reserved =
      mmap(NULL, 64 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  char* used = mmap(reserved + kBytes, kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(reserved != MAP_FAILED && used == reserved + kBytes);
  for (int i = 0; i < kBytes; ++i) used[i] = (char)(i + rank);
  const int other = rank == 0 ? open("/dev/zero", O_RDONLY) : -1;
  if (rank == 0) {
    CHECK(mmap(reserved, kBytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, other, 0) == reserved);
    close(other);
  }
  refused();
  if (rank == 0)
    CHECK(mmap(reserved, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          reserved);
  close(fd);
  unlink(name);
  checkpoint();
  for (int i = 0; i < kBytes; ++i) CHECK(used[i] == (char)(i + rank));
  CHECK(mprotect(reserved, kBytes, PROT_READ | PROT_WRITE) == 0);
  reserved[0] = 1;
  CHECK(munmap(reserved, 64 * kBytes) == 0);
  return finish();
}
