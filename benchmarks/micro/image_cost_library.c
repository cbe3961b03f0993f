/* A library of image_cost: uses MPI, and has variables and tables of pointers as a small library of
 * a program has. */
#include <mpi.h>

static int calls, table[1000];
static int add(int x) { return x + calls; }
static int subtract(int x) { return x - calls; }
static int (*functions[200])(int) = {add, subtract};
static const char* const words[] = {"one", "two", "three", "four", "five", "six"};

int image_cost_library(int rank) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  table[rank % 1000] += functions[rank % 2](size) + words[rank % 6][0];
  return ++calls;
}
