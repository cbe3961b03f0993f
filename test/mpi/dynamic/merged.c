/* A communicator that is merged of a job's own ranks and others, spawned as processes or as proclets: what works on it, and what
 * is refused with a class and words: windows, files and groups that the system ranks. The parts of one job can have these. */
#include <fgmpi.h>
#include <string.h>

#include "spawning.h"

static void refused(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  CHECK(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, "members of several jobs") && strstr(text, what));
}

static void what_is_not_there(MPI_Comm merged) {
  MPI_Win win = MPI_WIN_NULL;
  MPI_File file = MPI_FILE_NULL;
  char bytes[8], *base;
  OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
  refused(MPI_Win_create(bytes, 8, 1, MPI_INFO_NULL, merged, &win), "a window");
  refused(MPI_Win_allocate(8, 1, MPI_INFO_NULL, merged, &base, &win), "a window");
  refused(MPI_Win_create_dynamic(MPI_INFO_NULL, merged, &win), "a window");
  refused(MPI_File_open(merged, "/tmp/fgmpi-test-merged", MPI_MODE_CREATE | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &file),
          "a file");
  MPI_Comm part = MPI_COMM_NULL;
  refused(MPIX_Comm_split(merged, 0, MPIX_SYSTEM_RANKED, &part), "a group that the system ranks");
  CHECK(part == MPI_COMM_NULL);
  CHECK(win == MPI_WIN_NULL && file == MPI_FILE_NULL);
}

/* Ranks of merged in order are 0, 1, ... of both sides. */
static void what_is_there(MPI_Comm merged) {
  int rank, size, left, right, got = -1, dims[1] = {0}, periods[1] = {1}, sum, one = 1;
  MPI_Comm part, ring;
  MPI_Request request;
  OK(MPI_Comm_rank(merged, &rank));
  OK(MPI_Comm_size(merged, &size));
  OK(MPI_Dims_create(size, 1, dims));
  OK(MPI_Cart_create(merged, 1, dims, periods, 0, &ring));
  OK(MPI_Cart_shift(ring, 0, 1, &left, &right));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, ring, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size);
  int* all = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, ring, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < size; ++i) CHECK(all[i] == i);
  free(all);
  OK(MPI_Comm_free(&ring));
  OK(MPI_Comm_split(merged, rank % 2, -rank, &part));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part));
  CHECK(sum == (rank % 2 ? size / 2 : (size + 1) / 2));
  OK(MPI_Comm_free(&part));
}

/* A part of one job's own processes has windows. */
static void what_a_part_has(MPI_Comm merged, int child) {
  MPI_Comm part;
  MPI_Win win;
  int rank, size, *base, got = -1;
  OK(MPI_Comm_split(merged, child, 0, &part));
  if (!child) {
    OK(MPI_Comm_rank(part, &rank));
    OK(MPI_Comm_size(part, &size));
    OK(MPI_Win_allocate(sizeof(int), 4, MPI_INFO_NULL, part, &base, &win));
    *base = rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK(got == (rank + 1) % size);
    OK(MPI_Win_free(&win));
  }
  OK(MPI_Comm_free(&part));
}

static void use(MPI_Comm inter, int child) {
  MPI_Comm merged;
  OK(MPI_Intercomm_merge(inter, child, &merged));
  what_is_there(merged);
  what_is_not_there(merged);
  what_a_part_has(merged, child);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    use(parent, 1);
    return MPI_Finalize();
  }
  const char* places[] = {"processes", "here"};
  for (int k = 0; k < 2; ++k) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "fgmpi_where", places[k]));
    OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, info, 0, MPI_COMM_WORLD, &children,
                      MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
    use(children, 0);
  }
  return finish();
}
