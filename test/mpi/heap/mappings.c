/* FGMPI_HEAP=rank: private anonymous mappings of a rank lie in its slot; munmap, mremap, mprotect and madvise work on them. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, in_slots;
static uintptr_t low = UINTPTR_MAX, high = 0;

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s (%s)\n", rank, what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void note(const void* at, size_t bytes) {
  if ((uintptr_t)at < low) low = (uintptr_t)at;
  if ((uintptr_t)at + bytes > high) high = (uintptr_t)at + bytes;
}

static unsigned char* map(size_t bytes, int protection) {
  unsigned char* at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(at != MAP_FAILED, "mmap");
  note(at, bytes);
  return at;
}

static int is_filled(const unsigned char* at, size_t bytes, unsigned char with) {
  for (size_t i = 0; i < bytes; i += 509)
    if (at[i] != with) return 0;
  return bytes == 0 || at[bytes - 1] == with;
}

/* What may be mapped at this address? 0: nothing that can be written. */
static int can_write(unsigned char* at) {
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  check(write(ends[1], "x", 1) == 1, "write");
  const int ok = read(ends[0], at, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return ok;
}

static unsigned next;
static unsigned draw(unsigned below) {
  next = next * 1664525u + 1013904223u;
  return (next >> 8) % below;
}

enum { kPage = 4096, kMappings = 60 };

static void random_mappings(void) {
  unsigned char* at[kMappings] = {NULL};
  size_t pages[kMappings];
  for (int step = 0; step < 1500; ++step) {
    const unsigned i = draw(kMappings);
    if (!at[i]) {
      pages[i] = 1 + draw(20);
      at[i] = map(pages[i] * kPage - draw(2) * 100, PROT_READ | PROT_WRITE);
      check(is_filled(at[i], pages[i] * kPage, 0), "a mapping that is not zero");
      memset(at[i], (int)i + 1, pages[i] * kPage);
      continue;
    }
    check(is_filled(at[i], pages[i] * kPage, (unsigned char)(i + 1)), "other bytes in a mapping");
    const size_t wanted = 1 + draw(30);
    switch (draw(4)) {
      case 0: { /* longer or shorter */
        unsigned char* moved = mremap(at[i], pages[i] * kPage, wanted * kPage, MREMAP_MAYMOVE);
        check(moved != MAP_FAILED, "mremap");
        note(moved, wanted * kPage);
        const size_t kept = wanted < pages[i] ? wanted : pages[i];
        check(is_filled(moved, kept * kPage, (unsigned char)(i + 1)), "other bytes after mremap");
        if (wanted > pages[i])
          check(is_filled(moved + kept * kPage, (wanted - kept) * kPage, 0),
                "what mremap adds is not zero");
        at[i] = moved;
        pages[i] = wanted;
        memset(moved, (int)i + 1, wanted * kPage);
        break;
      }
      case 1: /* the end alone */
        if (pages[i] > 1) {
          check(munmap(at[i] + (pages[i] - 1) * kPage, kPage) == 0, "munmap of a page");
          --pages[i];
        }
        break;
      case 2:
        check(madvise(at[i], pages[i] * kPage, MADV_DONTNEED) == 0, "madvise");
        check(is_filled(at[i], pages[i] * kPage, 0), "a mapping that was dropped is not zero");
        memset(at[i], (int)i + 1, pages[i] * kPage);
        break;
      default:
        check(munmap(at[i], pages[i] * kPage) == 0, "munmap");
        at[i] = NULL;
    }
  }
  for (int i = 0; i < kMappings; ++i)
    if (at[i]) check(munmap(at[i], pages[i] * kPage) == 0, "munmap in the end");
}

/* Protection, and that it is gone with the mapping. */
static void protection(void) {
  unsigned char* at = map(8 * kPage, PROT_READ | PROT_WRITE);
  memset(at, 1, 8 * kPage);
  check(mprotect(at + kPage, 2 * kPage, PROT_READ) == 0, "mprotect");
  check(!can_write(at + kPage) && can_write(at + 3 * kPage), "mprotect has no effect");
  check(munmap(at + 2 * kPage, 4 * kPage) == 0, "munmap of the middle");
  check(at[kPage] == 1 && at[6 * kPage] == 1, "munmap took more");
  check(munmap(at, 8 * kPage) == 0, "munmap with a hole");
  unsigned char* other = map(8 * kPage, PROT_READ | PROT_WRITE);
  memset(other, 2, 8 * kPage);
  check(munmap(other, 8 * kPage) == 0, "munmap");
  /* Reserved, then used in part. */
  const size_t much = (size_t)1 << 30;
  at = map(much, PROT_NONE);
  check(!can_write(at), "a reservation can be written to");
  check(mprotect(at + much / 2, 16 * kPage, PROT_READ | PROT_WRITE) == 0, "mprotect of a part");
  memset(at + much / 2, 3, 16 * kPage);
  check(
      mmap(at, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at,
      "MAP_FIXED");
  at[0] = 4;
  check(munmap(at, much) == 0, "munmap of a reservation");
  /* What no slot has room for, or is shared, is the kernel's. */
  void* huge =
      mmap(NULL, (size_t)1 << 41, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(huge != MAP_FAILED && munmap(huge, (size_t)1 << 41) == 0, "2 TiB");
  int* shared = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(shared != MAP_FAILED, "a shared mapping");
  const pid_t child = fork();
  if (child == 0) {
    char* own = map(3 * kPage, PROT_READ | PROT_WRITE) ? malloc(100000) : NULL;
    *shared = own ? 7 : 0;
    _exit(0);
  }
  check(child > 0 && waitpid(child, NULL, 0) == child && *shared == 7, "memory of a child");
  check(munmap(shared, kPage) == 0, "munmap of a shared mapping");
  errno = 0;
  check(munmap((char*)at + 1, kPage) == -1 && errno == EINVAL, "munmap of no page");
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (unsigned)rank * 7919u + 1;
  const char* of = getenv("FGMPI_HEAP");
  in_slots = of && !strcmp(of, "rank");
  char* block = malloc(100);
  if (in_slots) note(block, 100);
  free(block);
  random_mappings();
  MPI_Barrier(MPI_COMM_WORLD);
  protection();
  uintptr_t own[2] = {low, high}, *all = malloc(sizeof own * (size_t)size);
  MPI_Allgather(own, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
  for (int i = 0; i < size && in_slots; ++i)
    if (i != rank)
      check(all[2 * i] >= high || all[2 * i + 1] <= low, "a mapping in the range of another rank");
  free(all);
  MPI_Finalize();
  return 0;
}
