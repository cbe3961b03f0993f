/* Each rank has its own argument strings, which it may write to, and they end with a null pointer;
 * MPI_Init is called in an order that has nothing to do with the ranks, after sleeps of different
 * lengths. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

static int place; /* at another address in each rank */

int main(int argc, char** argv) {
  CHECK(argc == 1 && argv[argc] == NULL);
  const char* name = strrchr(argv[0], '/');
  CHECK(!strncmp(name ? name + 1 : argv[0], "starts", 6));
  usleep((useconds_t)(((uintptr_t)&place >> 12) * 2654435761u >> 16) % 20000);
  OK(MPI_Init(&argc, &argv));
  int rank, size, sum;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  /* Each rank overwrites the name; no rank sees what others wrote. */
  size_t length = strlen(argv[0]);
  snprintf(argv[0], length + 1, "%d", rank);
  argv[argc] = argv[0];
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2);
  CHECK(atoi(argv[0]) == rank && atoi(argv[argc]) == rank);
  return finish();
}
