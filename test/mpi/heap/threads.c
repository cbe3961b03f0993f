/* FGMPI_HEAP=rank: what threads of a rank allocate lies in the rank's slot, too; blocks go from thread to thread and from rank
 * to rank, and a rank with threads may fork. */
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 3, kSteps = 3000, kShared = 64 };
static int rank;
static _Atomic uintptr_t low = UINTPTR_MAX, high = 0;
static _Atomic(unsigned char*) shared[kShared];

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  abort();
}

static void note(const void* at, size_t bytes) {
  uintptr_t is = low;
  while ((uintptr_t)at < is &&
         !__atomic_compare_exchange_n((uintptr_t*)&low, &is, (uintptr_t)at, 0, 5, 5)) {
  }
  is = high;
  while ((uintptr_t)at + bytes > is &&
         !__atomic_compare_exchange_n((uintptr_t*)&high, &is, (uintptr_t)at + bytes, 0, 5, 5)) {
  }
}

/* A block whose first bytes are its size, filled by it. */
static unsigned char* make(unsigned size) {
  unsigned char* block = size % 5 ? malloc(size + 8) : calloc(1, size + 8);
  check(block != NULL && malloc_usable_size(block) >= size + 8, "no memory");
  note(block, size + 8);
  memcpy(block, &size, sizeof size);
  memset(block + 4, (int)(size & 255), size);
  return block;
}

static void drop(unsigned char* block) {
  unsigned size;
  if (!block) return;
  memcpy(&size, block, sizeof size);
  check(block[4] == (size & 255) && block[3 + size] == (size & 255), "other bytes in a block");
  free(block);
}

static void* work(void* argument) {
  unsigned next = (unsigned)(uintptr_t)argument * 7919u + (unsigned)rank + 1;
  for (int step = 0; step < kSteps; ++step) {
    next = next * 1664525u + 1013904223u;
    const unsigned size = (next >> 9) % 17 == 0 ? (next >> 8) % 90000 + 1 : (next >> 8) % 600 + 1;
    unsigned char* block = make(size);
    if (step % 7 == 0) {
      unsigned grown = size + size / 2 + 1;
      block = realloc(block, grown + 8);
      check(block != NULL && block[4] == (size & 255), "realloc");
      note(block, grown + 8);
      memcpy(block, &grown, sizeof grown);
      memset(block + 4, (int)(grown & 255), grown);
    }
    drop(__atomic_exchange_n((unsigned char**)&shared[next >> 8 & (kShared - 1)], block, 5));
    if (step % 100 == 0) {
      char* pages = mmap(NULL, 20000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      check(pages != MAP_FAILED && pages[19999] == 0, "mmap");
      note(pages, 20000);
      pages[0] = 1;
      check(munmap(pages, 20000) == 0, "munmap");
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int size, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char* before = make(100);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i)
    check(pthread_create(&threads[i], NULL, work, (void*)(i + 1)) == 0, "pthread_create");
  work((void*)77);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (unsigned k = 0; k < 2000; ++k) drop(make(k));
      _exit(0);
    }
    int status;
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < kThreads; ++i) check(pthread_join(threads[i], NULL) == 0, "pthread_join");
  for (int i = 0; i < kShared; ++i) drop(shared[i]);
  drop(before);
  uintptr_t own[2] = {low, high}, *all = malloc(sizeof own * (size_t)size);
  MPI_Allgather(own, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
  const char* of = getenv("FGMPI_HEAP");
  for (int i = 0; i < size && of && !strcmp(of, "rank"); ++i)
    if (i != rank)
      check(all[2 * i] >= high || all[2 * i + 1] <= low, "memory in the range of another rank");
  free(all);
  MPI_Finalize();
  return 0;
}
