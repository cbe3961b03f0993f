/* Every rank has a file of its own open, in processes with far fewer descriptors than ranks:
 * descriptors that are idle are closed and opened again. Files that were renamed or deleted
 * meanwhile keep theirs. */
#include <string.h>
#include <sys/resource.h>

#include "filetest.h"

enum { kDescriptors = 200, kHeld = 8 };

static void own_name(char* out, size_t room, int of) { snprintf(out, room, "%s_%d", name, of); }

int main(int argc, char** argv) {
  MPI_File f;
  struct rlimit before, few;
  char own[300], moved[310];
  start(&argc, &argv, "own_files");
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  few = before;
  few.rlim_cur = kDescriptors;
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  own_name(own, sizeof own, rank);
  OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  OK(MPI_File_write_at(f, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  /* The first ranks' names go while their descriptors may be closed already: those that are not
   * must stay open. */
  snprintf(moved, sizeof moved, "%s_moved", own);
  int kept = 0;
  if (rank < kHeld) {
    OK(MPI_File_write_at(f, 4, &rank, 1, MPI_INT, MPI_STATUS_IGNORE)); /* open now */
    CHECK(rank % 2 ? rename(own, moved) == 0 : unlink(own) == 0);
    kept = 1;
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int round = 1; round <= 3; round++) {
    int v = 1000 * round + rank, w = -1;
    MPI_Offset end;
    OK(MPI_File_write_at(f, 4 * round, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at(f, 4 * round, &w, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(v == w);
    OK(MPI_File_read_at(f, 0, &w, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(w == rank);
    OK(MPI_File_get_size(f, &end));
    CHECK(end == 4 * round + 4);
  }
  OK(MPI_File_close(&f));
  if (kept)
    CHECK(rank % 2 ? unlink(moved) == 0 : access(own, F_OK) != 0);
  else
    OK(MPI_File_delete(own, MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  return finish();
}
