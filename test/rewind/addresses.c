// Prints where blocks, mappings and windows of the program lie, while the library takes memory for messages, collectives, windows,
// communicators and types: a repeated run that is checked prints the same.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kMessages = 32, kSums = 8 };
static int rank, size, sent[kMessages], received[kMessages], sums[kSums], one = 1;

static void talk(void) {
  MPI_Request messages[2 * kMessages], reductions[kSums];
  MPI_Status statuses[2 * kMessages];
  for (int i = 0; i < kMessages; ++i)
    MPI_Irecv(&received[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &messages[i]);
  for (int i = 0; i < kMessages; ++i)
    MPI_Isend(&sent[i], 1, MPI_INT, (rank + 1 + i) % size, i, MPI_COMM_WORLD,
              &messages[kMessages + i]);
  for (int i = 0; i < kSums; ++i)
    MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reductions[i]);
  MPI_Waitall(2 * kMessages, messages, statuses);
  MPI_Waitall(kSums, reductions, statuses);
}

static void put(MPI_Win window) {
  MPI_Win_fence(0, window);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
}

int main(int argc, char** argv) {
  static double numbers[20000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 12; ++i) {
    void *base, *memory;
    MPI_Win window;
    MPI_Comm part;
    MPI_Datatype type;
    void *large = malloc(300000 + (size_t)i * 4096), *small = malloc(40 + (size_t)i * 100);
    void* mapping = mmap(0, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Win_allocate(4096 * (i + 1), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Alloc_mem(1000 * i + 1, MPI_INFO_NULL, &memory);
    talk();
    put(window);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(numbers, 20000, MPI_DOUBLE, 0, part);
    MPI_Type_free(&type);
    if (i % 3) MPI_Comm_free(&part);
    printf("rank %d, %d: %p %p %p %p %p, up to %p\n", rank, i, large, small, mapping, base, memory,
           sbrk(0));
    if (i % 2) free(large);
    free(small);
    if (i % 4 == 0) munmap(mapping, 1 << 16);
    MPI_Win_free(&window);
  }
  MPI_Finalize();
  return 0;
}
