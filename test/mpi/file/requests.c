/* Requests of files among those of messages: one MPI_Waitall or MPI_Testsome completes both.
 * Prefixes of file names. Nothing beside the file is left behind. */
#include <dirent.h>
#include <string.h>

#include "filetest.h"

enum { kFiles = 8, kMessages = 8, kAll = kFiles + kMessages };

static void both(MPI_File f, int some) {
  int out[kFiles], in[kFiles], sent[kMessages / 2], got[kMessages / 2];
  MPI_Request requests[kAll];
  MPI_Status statuses[kAll];
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < kFiles; i++) {
      out[i] = 100 * rank + i + some;
      in[i] = -1;
      const MPI_Offset at = (MPI_Offset)(kFiles * rank + i);
      OK(round ? MPI_File_iread_at(f, at, &in[i], 1, MPI_INT, &requests[2 * i])
               : MPI_File_iwrite_at(f, at, &out[i], 1, MPI_INT, &requests[2 * i]));
    }
    for (int i = 0; i < kMessages / 2; i++) {
      sent[i] = 7 * rank + i;
      OK(MPI_Irecv(&got[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &requests[4 * i + 1]));
      OK(MPI_Isend(&sent[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[4 * i + 3]));
    }
    if (some) {
      int left = kAll, n, list[kAll], seen[kAll] = {0};
      while (left > 0) {
        OK(MPI_Testsome(kAll, requests, &n, list, statuses));
        CHECK(n != MPI_UNDEFINED);
        for (int i = 0; i < n; i++) {
          CHECK(!seen[list[i]]++);
          if (list[i] % 4 != 3) CHECK(count_of(&statuses[i], MPI_INT) == 1);
        }
        left -= n;
      }
      OK(MPI_Testsome(kAll, requests, &n, list, statuses));
      CHECK(n == MPI_UNDEFINED);
    } else {
      OK(MPI_Waitall(kAll, requests, statuses));
      for (int i = 0; i < kFiles; i++) CHECK(count_of(&statuses[2 * i], MPI_INT) == 1);
    }
    for (int i = 0; i < kMessages / 2; i++) CHECK(got[i] == 7 * before + i);
  }
  for (int i = 0; i < kFiles; i++) CHECK(in[i] == out[i]);
}

/* A message from a rank to itself, and a read. */
static void with_itself(MPI_File f) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int v = 0, w = 0;
  OK(MPI_Irecv(&v, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_File_iread_at(f, 0, &w, 1, MPI_INT, &requests[1]));
  OK(MPI_Send(&rank, 1, MPI_INT, rank, 99, MPI_COMM_WORLD));
  OK(MPI_Waitall(2, requests, statuses));
  CHECK(v == rank);
}

static void prefixes(void) {
  const char* const known[] = {"ufs:", "nfs:", "testfs:", "xfs:", "lustre:", "gpfs:"};
  char path[300];
  MPI_File f;
  for (int i = 0; i < (int)(sizeof known / sizeof *known); i++) {
    snprintf(path, sizeof path, "%s%s", known[i], name);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    OK(MPI_File_close(&f));
  }
  /* What is no prefix is part of the name. */
  snprintf(path, sizeof path, "floppy:%s", name);
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &f),
        MPI_ERR_NO_SUCH_FILE);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  snprintf(path, sizeof path, "ufs:%s", name);
  if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
}

/* Shared pointers of files that are made and deleted in turn: no hidden file can be in the way,
 * none is left. */
static void made_and_deleted(void) {
  MPI_File f;
  int v = rank, entries = 0;
  for (int i = 0; i < 30; i++) {
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &f));
    OK(MPI_File_set_atomicity(f, i % 2));
    OK(MPI_File_write_shared(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write_ordered(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&f));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  DIR* here = opendir(".");
  CHECK(here);
  for (struct dirent* entry; (entry = readdir(here));)
    entries += strstr(entry->d_name, name) != NULL;
  closedir(here);
  CHECK(entries == 0);
}

int main(int argc, char** argv) {
  MPI_File f;
  start(&argc, &argv, "requests");
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  both(f, 0);
  both(f, 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  with_itself(f);
  OK(MPI_File_close(&f));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  prefixes();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  made_and_deleted();
  return finish();
}
