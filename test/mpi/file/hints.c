/* Info keys of files: those that work are listed by MPI_File_get_info with the values in use,
 * others are not; what they do shows in the file, or in what is open (MPI-4.0 section 14.2.8). */
#include <string.h>
#include <sys/stat.h>

#include "filetest.h"

static MPI_File open_with(int mode, int n, const char* const pairs[][2]) {
  MPI_Info info;
  MPI_File f;
  OK(MPI_Info_create(&info));
  for (int i = 0; i < n; i++) OK(MPI_Info_set(info, pairs[i][0], pairs[i][1]));
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, info, &f));
  OK(MPI_Info_free(&info));
  return f;
}

/* nullptr: it must not be listed. */
static void expect(MPI_File f, const char* key, const char* expected) {
  MPI_Info used;
  char value[MPI_MAX_INFO_VAL + 1];
  int flag;
  OK(MPI_File_get_info(f, &used));
  OK(MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &flag));
  OK(MPI_Info_free(&used));
  CHECK(flag == (expected != NULL));
  if (expected) CHECK(!strcmp(value, expected));
}

static void close_and_delete(MPI_File* f) {
  OK(MPI_File_close(f));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void listed(void) {
  const char* const given[][2] = {{"cb_buffer_size", "8192"},
                                  {"cb_nodes", "1"},
                                  {"striping_unit", "1024"},
                                  {"romio_cb_read", "disable"},
                                  {"romio_cb_write", "enable"},
                                  {"romio_ds_read", "enable"},
                                  {"romio_ds_write", "disable"},
                                  {"ind_rd_buffer_size", "10000"},
                                  {"ind_wr_buffer_size", "20000"},
                                  {"cb_config_list", "*:*"},
                                  {"access_style", "write_once,random"},
                                  {"file_perm", "0640"},
                                  {"romio_no_indep_rw", "false"}};
  const int n = sizeof given / sizeof *given;
  MPI_File f = open_with(MPI_MODE_CREATE | MPI_MODE_RDWR, n, given);
  struct stat about;
  for (int i = 0; i < n; i++) expect(f, given[i][0], given[i][1]);
  expect(f, "romio_aggregator_list", "0");
  CHECK(stat(name, &about) == 0 && (about.st_mode & 0777 & ~0640) == 0);
  /* Some may change later, and bad values leave the last good one. */
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "cb_buffer_size", "many"));
  OK(MPI_Info_set(info, "access_style", "sequential"));
  OK(MPI_Info_set(info, "cb_nodes", "3"));
  OK(MPI_File_set_info(f, info));
  OK(MPI_Info_free(&info));
  expect(f, "cb_buffer_size", "8192");
  expect(f, "access_style", "sequential");
  /* One member's word on sieved writes is all members'. */
  OK(MPI_Info_create(&info));
  if (rank == size - 1) OK(MPI_Info_set(info, "romio_ds_write", "enable"));
  OK(MPI_File_set_info(f, info));
  OK(MPI_Info_free(&info));
  expect(f, "romio_ds_write", "enable");
  expect(f, "cb_nodes", "1");
  close_and_delete(&f);
  /* No file system that is written here is striped by hints, and none is written around the
   * kernel's cache. */
  const char* const ignored[][2] = {{"striping_factor", "4"},  {"direct_read", "true"},
                                    {"direct_write", "true"},  {"start_iodevice", "1"},
                                    {"nb_proc", "2"},          {"access_style", "upside_down"},
                                    {"cb_config_list", "a:,b"}};
  f = open_with(MPI_MODE_CREATE | MPI_MODE_RDWR, 7, ignored);
  for (int i = 0; i < 7; i++) expect(f, ignored[i][0], NULL);
  close_and_delete(&f);
}

/* Integers in turn: rank r has every size-th one. The bytes of others stay, whoever writes when. */
static void strided(const char* sieve, int mode, const char* buffer) {
  enum { kCount = 300 };
  const char* const given[][2] = {{"romio_ds_write", sieve}, {"ind_wr_buffer_size", buffer}};
  MPI_File f = open_with(MPI_MODE_CREATE | MPI_MODE_RDWR | mode, 2, given);
  MPI_Datatype every;
  MPI_Status s;
  int v[kCount], w[kCount];
  OK(MPI_Type_vector(kCount, 1, size + 1, MPI_INT, &every));
  OK(MPI_Type_commit(&every));
  /* Before the first integers, and in the last slot of each round, are bytes of nobody. */
  memset(v, 0x77, sizeof v);
  if (rank == 0)
    for (int i = 0; i < kCount * (size + 1) / 2; i += kCount)
      OK(MPI_File_write_at(f, 4L * i, v, kCount, MPI_INT, &s));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_set_view(f, 4L * rank, MPI_INT, every, "native", MPI_INFO_NULL));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < kCount; i++) v[i] = 1000000 * round + 1000 * rank + i;
    if (round == 1)
      OK(MPI_File_write_at_all(f, 0, v, kCount, MPI_INT, &s));
    else
      OK(MPI_File_write_at(f, 0, v, kCount, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == kCount);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at(f, 0, w, kCount, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == kCount && !memcmp(v, w, sizeof v));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(f, size, w, 1, MPI_INT, &s));
  CHECK(w[0] == 0x77777777);
  OK(MPI_Type_free(&every));
  close_and_delete(&f);
}

/* Bytes in turn of two handles of one file, written at the same time: what a write of one handle
 * reads and writes back between its pieces must not undo a write of the other one. */
static void two_handles(const char* sieve, int mode) {
  enum { kCount = 200, kRounds = 10 };
  const char* const given[][2] = {{"romio_ds_write", sieve}};
  MPI_File f = open_with(MPI_MODE_CREATE | MPI_MODE_RDWR, 1, given), own;
  MPI_Datatype every;
  unsigned char v[kCount], w[kCount];
  OK(MPI_Type_vector(kCount, 1, 2 * size, MPI_BYTE, &every));
  OK(MPI_Type_commit(&every));
  OK(MPI_File_set_view(f, 2 * rank, MPI_BYTE, every, "native", MPI_INFO_NULL));
  for (int round = 0; round < kRounds; round++) {
    memset(v, round + rank, sizeof v);
    OK(MPI_File_write_at(f, 0, v, kCount, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &own));
    for (int i = 0; i < kCount; i += 7)
      OK(MPI_File_write_at(own, 2 * (i * size + rank) + 1, v, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at(f, 0, v, kCount, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&own));
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &own));
    for (int i = 0; i < kCount; i += 7) {
      OK(MPI_File_read_at(own, 2 * (i * size + rank) + 1, w, 1, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK(w[0] == v[0]);
    }
    OK(MPI_File_read_at(f, 0, w, kCount, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(v, w, kCount));
    OK(MPI_File_close(&own));
  }
  OK(MPI_Type_free(&every));
  close_and_delete(&f);
}

/* Only aggregators open the file; what the others then do alone opens it after all. */
static void no_independent_access(void) {
  const char* const given[][2] = {{"romio_no_indep_rw", "true"}, {"cb_nodes", "1"}};
  MPI_File f = open_with(MPI_MODE_CREATE | MPI_MODE_RDWR, 2, given);
  int v = rank, w = -1;
  expect(f, "romio_cb_write", "enable");
  expect(f, "romio_cb_read", "enable");
  OK(MPI_File_write_at_all(f, 4L * rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(f, 4L * rank, &w, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(w == rank);
  OK(MPI_File_read_at(f, 4L * (size - 1 - rank), &w, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(w == size - 1 - rank);
  close_and_delete(&f);
}

int main(int argc, char** argv) {
  start(&argc, &argv, "hints");
  listed();
  strided("enable", 0, "4096");
  strided("enable", 0, "512");
  strided("automatic", MPI_MODE_UNIQUE_OPEN, "100000");
  strided("automatic", 0, "100000");
  strided("disable", 0, "4096");
  two_handles("automatic", MPI_MODE_RDWR);
  two_handles("automatic", MPI_MODE_WRONLY);
  two_handles("disable", MPI_MODE_RDWR);
  no_independent_access();
  return finish();
}
