/* Prints where a rank's stack, variable and block are, and how many mappings the process has. For places.sh. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int variable = 5;
static int* to_variable = &variable;

static long mappings(void) {
  long lines = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
  if (file) fclose(file);
  return lines;
}

int main(int argc, char** argv) {
  int rank, local = 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* block = malloc(10);
  if (to_variable != &variable || *to_variable != 5 || argc != 1 || !strstr(argv[0], "places"))
    return 3;
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: %p %p %p %p\n", rank, (void*)((uintptr_t)&local >> 13), (void*)&variable,
         (void*)((uintptr_t)block >> 12), (void*)((uintptr_t)argv >> 12));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "mappings %ld\n", mappings());
  free(block);
  MPI_Finalize();
  return 0;
}
