/* A thousand connections, one after the other, between ranks 0 and 1: no more descriptors or memory
 * at the end. */
#include <string.h>

#include "usage.h"

static void cycle(int rank, const char* port, int times) {
  for (int k = 0; k < times; ++k) {
    MPI_Comm inter, merged;
    int sum, one = 1;
    if (rank == 0)
      OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    else
      OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    OK(MPI_Intercomm_merge(inter, rank, &merged));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK(sum == 2);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_disconnect(&inter));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size < 2) return finish();
  char port[MPI_MAX_PORT_NAME];
  if (rank == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD));
  if (rank < 2) {
    cycle(rank, port, 100);
    const int fds = open_descriptors();
    const long kib = resident_kib();
    cycle(rank, port, 900);
    CHECK(open_descriptors() <= fds + 2);
    CHECK(resident_kib() < kib + 2000);
  }
  if (rank == 0) OK(MPI_Close_port(port));
  return finish();
}
