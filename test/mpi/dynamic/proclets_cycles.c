/* Ranks are spawned as proclets and end, 10,000 in turn: no more descriptors, memory or mappings at
 * the end. */
#include <string.h>

#include "usage.h"

static void cycle(const char* program, int rank, int times) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_where", "here"));
  for (int k = 0; k < times; ++k) {
    MPI_Comm inter;
    int number = -1;
    OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1 + k % 3, info, 0, MPI_COMM_WORLD, &inter,
                      MPI_ERRCODES_IGNORE));
    if (rank == 0) {
      OK(MPI_Send(&k, 1, MPI_INT, 0, 3, inter));
      OK(MPI_Recv(&number, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE));
      CHECK(number == k + 1);
    }
    OK(MPI_Comm_disconnect(&inter));
  }
  OK(MPI_Info_free(&info));
}

static int mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int c; (c = getc(maps)) != EOF;) lines += c == '\n';
  fclose(maps);
  return lines;
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (parent != MPI_COMM_NULL) {
    int k;
    if (rank == 0) {
      OK(MPI_Recv(&k, 1, MPI_INT, 0, 3, parent, MPI_STATUS_IGNORE));
      ++k;
      OK(MPI_Send(&k, 1, MPI_INT, 0, 4, parent));
    }
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return 0;
  }
  cycle(argv[0], rank, 500);
  const int fds = open_descriptors(), maps = mappings();
  const long kib = resident_kib();
  cycle(argv[0], rank, 9500);
  CHECK(open_descriptors() <= fds + 1);
  CHECK(resident_kib() < kib + 2000);
  CHECK(mappings() < maps + 100);
  return finish();
}
