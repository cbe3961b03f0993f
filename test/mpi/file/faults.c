/* For faults.sh: a disk that fails from byte 1,000,000 on ("disk"), a file system without locks
 * ("locks"), one without room for more than a MiB ("space"). Everybody learns of an error, statuses
 * say what was done, and the file can be used afterwards. */
#include <errno.h>
#include <string.h>

#include "filetest.h"

enum { kBlock = 300000 };
static char bytes[kBlock], back[kBlock];

static MPI_Count moved(MPI_Status* s) {
  MPI_Count n;
  OK(MPI_Get_elements_x(s, MPI_BYTE, &n));
  return n;
}

static void expect_text(int code, const char* first, const char* second) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, first) && strstr(text, second));
}

/* `limit`: of the bytes that the file can have at most. */
static void limited(MPI_File f, int error, MPI_Offset limit, const char* reason) {
  MPI_Status s;
  MPI_Offset end;
  MPI_Datatype every;
  memset(bytes, rank + 1, sizeof bytes);
  /* No holes: a full file system has no room for more. */
  if (rank == 0)
    for (MPI_Offset at = 0; at < limit - kBlock / 2; at += 10000)
      OK(MPI_File_write_at(f, at, bytes, 10000, MPI_BYTE, &s));
  /* One after the other: who reaches over the limit is told how much was done. */
  for (int turn = 0; turn < size; turn++) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (turn != rank) continue;
    const MPI_Offset at = limit - kBlock / 2;
    const int code = MPI_File_write_at(f, at, bytes, kBlock, MPI_BYTE, &s);
    CHECK(class_of(code) == error);
    expect_text(code, "faulty", reason);
    CHECK(moved(&s) <= kBlock / 2 && moved(&s) >= kBlock / 2 - 4096);
    OK(MPI_File_read_at(f, at, back, kBlock / 2 - 4096, MPI_BYTE, &s));
    CHECK(moved(&s) == kBlock / 2 - 4096 && !memcmp(back, bytes, kBlock / 2 - 4096));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_get_size(f, &end));
  CHECK(end <= limit);
  /* Collectively, in blocks apart and interleaved, nonblocking and split. */
  const int part = 1000;
  OK(MPI_Type_vector(kBlock / part, part, part * size, MPI_BYTE, &every));
  OK(MPI_Type_commit(&every));
  for (int way = 0; way < 4; way++) {
    MPI_Request r;
    int code;
    OK(MPI_File_set_view(f, limit - kBlock / 2 + (way ? part : kBlock) * rank, MPI_BYTE,
                         way ? every : MPI_BYTE, "native", MPI_INFO_NULL));
    if (way < 2) {
      code = MPI_File_write_at_all(f, 0, bytes, kBlock, MPI_BYTE, &s);
    } else if (way == 2) {
      OK(MPI_File_iwrite_at_all(f, 0, bytes, kBlock, MPI_BYTE, &r));
      code = MPI_Wait(&r, &s);
    } else {
      OK(MPI_File_write_at_all_begin(f, 0, bytes, kBlock, MPI_BYTE));
      code = MPI_File_write_at_all_end(f, bytes, &s);
    }
    CHECK(class_of(code) == error);
    CHECK(moved(&s) < kBlock);
  }
  OK(MPI_Type_free(&every));
  /* It goes on. */
  OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(f, 100 * rank, bytes, 100, MPI_BYTE, &s));
  CHECK(moved(&s) == 100);
  OK(MPI_File_read_at_all(f, 100 * rank, back, 100, MPI_BYTE, &s));
  CHECK(moved(&s) == 100 && !memcmp(back, bytes, 100));
}

static void without_locks(MPI_File f) {
  MPI_Info info;
  MPI_Datatype every;
  int refused = 0;
  OK(MPI_File_set_atomicity(f, 1));
  const int code = MPI_File_write_at(f, 100 * rank, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    CHECK(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION);
    expect_text(code, "cannot lock bytes", "without atomic mode no locks are needed");
    refused = 1;
  }
  printf("locks were %s\n", refused ? "refused" : "not needed");
  OK(MPI_File_set_atomicity(f, 0));
  OK(MPI_File_write_at(f, 100 * rank, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* Writes that should sieve are made piece by piece. */
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_ds_write", "enable"));
  OK(MPI_File_set_info(f, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Type_vector(50, 2, 2 * size, MPI_BYTE, &every));
  OK(MPI_Type_commit(&every));
  OK(MPI_File_set_view(f, 2 * rank, MPI_BYTE, every, "native", MPI_INFO_NULL));
  for (int i = 0; i < 100; i++) bytes[i] = (char)(i + rank);
  OK(MPI_File_write_at(f, 0, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_read_at(f, 0, back, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(!memcmp(bytes, back, 100));
  OK(MPI_Type_free(&every));
}

int main(int argc, char** argv) {
  MPI_File f;
  start(&argc, &argv, "faults");
  snprintf(name, sizeof name, "%s/faulty", argv[2]);
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &f));
  if (!strcmp(argv[1], "disk")) limited(f, MPI_ERR_IO, 1000000, strerror(EIO));
  if (!strcmp(argv[1], "space")) limited(f, MPI_ERR_NO_SPACE, 1 << 20, strerror(ENOSPC));
  if (!strcmp(argv[1], "locks")) without_locks(f);
  OK(MPI_File_close(&f));
  return finish();
}
