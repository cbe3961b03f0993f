/* Counts and offsets beyond 2^31 bytes in sparse files, hundreds of opens, and a file that must not
 * grow: errors that tell what was done, the same at all members. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "filetest.h"

/* The ends of a sparse file of so many bytes, through offsets and a type that reach over all of
 * it. */
static void large(int64_t bytes) {
  MPI_File f;
  MPI_Status s;
  MPI_Count n;
  MPI_Offset end;
  if (rank == 0) {
    char* space = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(space != MAP_FAILED);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    /* A file with a last byte alone, read back as a whole: the kernel's zeroes but for that. */
    char last = 77;
    OK(MPI_File_write_at(f, bytes - 1, &last, 1, MPI_BYTE, &s));
    OK(MPI_File_get_size(f, &end));
    CHECK(end == bytes);
    /* Only the tail, to keep the test quick: offsets and counts have more than 31 bits all the
     * same. */
    char tail[8];
    OK(MPI_File_read_at(f, bytes - 8, tail, 8, MPI_BYTE, &s));
    CHECK(tail[7] == 77 && tail[6] == 0);
    MPI_Datatype sparse;
    MPI_Aint displs[] = {0, bytes - 4};
    int lengths[] = {4, 4};
    OK(MPI_Type_create_hindexed(2, lengths, displs, MPI_BYTE, &sparse));
    OK(MPI_Type_commit(&sparse));
    OK(MPI_File_read_at(f, 0, tail, 8, MPI_BYTE, &s));
    space[bytes - 1] = 55;
    OK(MPI_File_set_view(f, 0, MPI_BYTE, sparse, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at(f, 0, space, 1, sparse, &s));
    OK(MPI_Get_elements_x(&s, MPI_BYTE, &n));
    CHECK(n == 8);
    OK(MPI_File_read_at(f, 0, tail, 8, MPI_BYTE, &s));
    CHECK(tail[7] == 55);
    OK(MPI_Type_free(&sparse));
    OK(MPI_File_close(&f));
    OK(MPI_File_delete(name, MPI_INFO_NULL));
    munmap(space, (size_t)bytes);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void many_opens(void) {
  MPI_File f;
  for (int i = 0; i < 300; i++) {
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    OK(MPI_File_write_at_all(f, 4L * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&f));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Ranks have more files of their own open than the process has descriptors. */
static void many_files(void) {
  enum { kFiles = 40 };
  MPI_File f[kFiles];
  char own[300];
  struct rlimit before, few;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  few = before;
  few.rlim_cur = 64;
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (int i = 0; i < kFiles; i++) {
    snprintf(own, sizeof own, "%s_%d_%d", name, rank, i);
    OK(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f[i]));
  }
  for (int i = 0; i < kFiles; i++) {
    int v = rank * 1000 + i, w = -1;
    OK(MPI_File_write_at(f[i], 8, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(f[i], 8, &w, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(v == w);
  }
  for (int i = 0; i < kFiles; i++) {
    OK(MPI_File_close(&f[i]));
    snprintf(own, sizeof own, "%s_%d_%d", name, rank, i);
    OK(MPI_File_delete(own, MPI_INFO_NULL));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

static void no_room(void) {
  MPI_File f;
  MPI_Status s;
  int n, length;
  char text[MPI_MAX_ERROR_STRING];
  struct rlimit before, small;
  static char bytes[8192];
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  small = before;
  small.rlim_cur = 4096;
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  int code = MPI_File_write_at(f, 0, bytes, 8192, MPI_BYTE, &s);
  CHECK(class_of(code) == MPI_ERR_IO);
  OK(MPI_Get_count(&s, MPI_BYTE, &n));
  CHECK(n == 4096);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, "MPI_File_write_at") && strstr(text, name) && strstr(text, "offset 4096") &&
        strstr(text, strerror(EFBIG)));
  /* The last rank's part does not fit: everybody learns of it. */
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(MPI_File_write_at_all(f, rank == size - 1 ? 4096 : 0, bytes, rank == size - 1 ? 100 : 0,
                              MPI_BYTE, &s) != MPI_SUCCESS);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_write_at_all(f, 4096 + 100 * rank, bytes, 100, MPI_BYTE, &s));
  OK(MPI_File_close(&f));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  start(&argc, &argv, "limits");
  large((int64_t)1 << 31);
  large(((int64_t)1 << 31) - 1);
  large(((int64_t)1 << 31) + 4096);
  large(((int64_t)5 << 30) + 3);
  many_opens();
  many_files();
  no_room();
  return finish();
}
