/* Files: every call once and what it must do (MPI-4.0 chapter 14), at any number of ranks. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filetest.h"

static MPI_File create(int mode) {
  MPI_File f;
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f));
  return f;
}

static void modes(void) {
  MPI_File f;
  MPI_Offset n;
  MPI_Group group;
  int amode, members, flag;
  FAILS(MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f),
        MPI_ERR_NO_SUCH_FILE);
  CHECK(f == MPI_FILE_NULL);
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &f),
        MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, "/tmp", MPI_MODE_RDONLY, MPI_INFO_NULL, &f),
        MPI_ERR_BAD_FILE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
        MPI_ERR_AMODE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &f),
        MPI_ERR_AMODE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &f),
        MPI_ERR_AMODE);
  if (size > 1)
    FAILS(MPI_File_open(MPI_COMM_WORLD, name,
                        MPI_MODE_CREATE | (rank == size - 1 ? MPI_MODE_RDWR : MPI_MODE_WRONLY),
                        MPI_INFO_NULL, &f),
          MPI_ERR_NOT_SAME);
  f = create(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
  OK(MPI_File_get_amode(f, &amode));
  CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
  OK(MPI_File_get_group(f, &group));
  OK(MPI_Group_size(group, &members));
  CHECK(members == size);
  OK(MPI_Group_free(&group));
  OK(MPI_File_set_size(f, 1000));
  OK(MPI_File_get_size(f, &n));
  CHECK(n == 1000);
  OK(MPI_File_preallocate(f, 5000));
  OK(MPI_File_get_size(f, &n));
  CHECK(n == 5000);
  FAILS(MPI_File_set_size(f, -1), MPI_ERR_ARG);
  if (size > 1) FAILS(MPI_File_set_size(f, rank), MPI_ERR_NOT_SAME);
  OK(MPI_File_get_atomicity(f, &flag));
  CHECK(!flag);
  OK(MPI_File_set_atomicity(f, 1));
  OK(MPI_File_get_atomicity(f, &flag));
  CHECK(flag);
  OK(MPI_File_sync(f));
  OK(MPI_File_close(&f));
  CHECK(f == MPI_FILE_NULL);
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                      MPI_INFO_NULL, &f),
        MPI_ERR_FILE_EXISTS);
  f = create(MPI_MODE_RDONLY);
  FAILS(MPI_File_write_at(f, 0, &n, 1, MPI_OFFSET, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_write_at_all(f, 0, &n, 1, MPI_OFFSET, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_read_at(f, -1, &n, 1, MPI_OFFSET, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  FAILS(MPI_File_read_at(f, 0, &n, -1, MPI_OFFSET, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  OK(MPI_File_close(&f));
  f = create(MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
  OK(MPI_File_get_position(f, &n));
  CHECK(n == 5000);
  OK(MPI_File_get_position_shared(f, &n));
  CHECK(n == 5000);
  FAILS(MPI_File_read(f, &n, 1, MPI_OFFSET, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  OK(MPI_File_close(&f));
  struct stat about;
  CHECK(stat(name, &about) != 0);
  FAILS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_close(&f), MPI_ERR_FILE);
}

/* Individual pointers, explicit offsets, ends of files. */
static void individual(void) {
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status s;
  MPI_Offset at;
  int v[4] = {rank, rank + 1, rank + 2, rank + 3}, w[8];
  OK(MPI_File_set_view(f, 16L * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_write(f, v, 2, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 2);
  OK(MPI_File_get_position(f, &at));
  CHECK(at == 2);
  OK(MPI_File_write_at(f, 2, v + 2, 2, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_get_byte_offset(f, 3, &at));
  CHECK(at == 16 * rank + 12);
  OK(MPI_File_sync(f));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(f));
  OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  int other = (rank + 1) % size;
  OK(MPI_File_seek(f, 4 * other, MPI_SEEK_SET));
  memset(w, -1, sizeof w);
  OK(MPI_File_read(f, w, 4, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 4);
  for (int i = 0; i < 4; i++) CHECK(w[i] == other + i);
  OK(MPI_File_seek(f, -1, MPI_SEEK_END));
  OK(MPI_File_read(f, w, 8, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 1 && w[0] == size + 2 && w[1] == other + 1);
  OK(MPI_File_read_at_all(f, 4 * size - 2, w, 8, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 2 && w[0] == size + 1 && w[1] == size + 2);
  OK(MPI_File_read_at(f, 100 * size, w, 8, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 0);
  MPI_Offset before, behind;
  OK(MPI_File_get_position(f, &before));
  FAILS(MPI_File_seek(f, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  OK(MPI_File_get_position(f, &behind));
  CHECK(before == behind);
  FAILS(MPI_File_seek(f, 0, 77), MPI_ERR_ARG);
  MPI_Aint extent;
  OK(MPI_File_get_type_extent(f, MPI_DOUBLE, &extent));
  CHECK(extent == 8);
  /* Half an etype, and the elements of a partial type. */
  FAILS(MPI_File_read_at(f, 0, w, 3, MPI_SHORT, MPI_STATUS_IGNORE), MPI_ERR_IO);
  MPI_Datatype pair;
  int n;
  OK(MPI_Type_contiguous(3, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_File_read_at(f, 4 * size - 4, w, 2, pair, &s));
  OK(MPI_Get_count(&s, pair, &n));
  CHECK(n == MPI_UNDEFINED);
  OK(MPI_Get_elements(&s, pair, &n));
  CHECK(n == 4);
  OK(MPI_Type_free(&pair));
  OK(MPI_File_close(&f));
}

/* A two-dimensional array, a column block a rank: views with holes, collective and not. */
static void views(void) {
  enum { kRows = 7, kWidth = 3 };
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype column, back, etype;
  MPI_Status s;
  MPI_Request r;
  int sizes[] = {kRows, kWidth * size}, parts[] = {kRows, kWidth}, starts[] = {0, kWidth * rank};
  int mine[kRows * kWidth], got[kRows * kWidth];
  OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_File_set_view(f, 8, MPI_INT, column, "native", MPI_INFO_NULL));
  char rep[MPI_MAX_DATAREP_STRING];
  MPI_Offset disp;
  OK(MPI_File_get_view(f, &disp, &etype, &back, rep));
  CHECK(disp == 8 && etype == MPI_INT && !strcmp(rep, "native"));
  int ni, na, nd, combiner, typesize;
  OK(MPI_Type_get_envelope(back, &ni, &na, &nd, &combiner));
  CHECK(combiner == MPI_COMBINER_DUP);
  OK(MPI_Type_size(back, &typesize));
  CHECK(typesize == kRows * kWidth * 4);
  OK(MPI_Type_free(&back));
  OK(MPI_Type_free(&column));
  for (int way = 0; way < 5; way++) {
    for (int i = 0; i < kRows * kWidth; i++) mine[i] = 1000 * way + 100 * rank + i;
    memset(got, -1, sizeof got);
    OK(MPI_File_seek(f, 0, MPI_SEEK_SET));
    if (way == 0) {
      OK(MPI_File_write_all(f, mine, kRows * kWidth, MPI_INT, &s));
      CHECK(count_of(&s, MPI_INT) == kRows * kWidth);
    } else if (way == 1) {
      OK(MPI_File_write(f, mine, kRows * kWidth, MPI_INT, &s));
    } else if (way == 2) {
      OK(MPI_File_iwrite_all(f, mine, kRows * kWidth, MPI_INT, &r));
      OK(MPI_Wait(&r, &s));
      CHECK(count_of(&s, MPI_INT) == kRows * kWidth);
    } else if (way == 3) {
      OK(MPI_File_write_all_begin(f, mine, kRows * kWidth, MPI_INT));
      OK(MPI_File_write_all_end(f, mine, &s));
      CHECK(count_of(&s, MPI_INT) == kRows * kWidth);
    } else {
      OK(MPI_File_iwrite_at(f, 0, mine, kRows * kWidth, MPI_INT, &r));
      OK(MPI_Waitall(1, &r, &s));
      CHECK(count_of(&s, MPI_INT) == kRows * kWidth);
    }
    OK(MPI_File_get_position(f, &disp));
    CHECK(disp == (way == 4 ? 0 : kRows * kWidth));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek(f, 0, MPI_SEEK_SET));
    if (way == 0)
      OK(MPI_File_read_all(f, got, kRows * kWidth, MPI_INT, &s));
    else if (way == 1)
      OK(MPI_File_read(f, got, kRows * kWidth, MPI_INT, &s));
    else if (way == 2) {
      OK(MPI_File_iread_all(f, got, kRows * kWidth, MPI_INT, &r));
      OK(MPI_Wait(&r, &s));
    } else if (way == 3) {
      OK(MPI_File_read_at_all_begin(f, 0, got, kRows * kWidth, MPI_INT));
      OK(MPI_File_read_at_all_end(f, got, &s));
    } else {
      OK(MPI_File_iread_at(f, 0, got, kRows * kWidth, MPI_INT, &r));
      OK(MPI_Wait(&r, &s));
    }
    CHECK(count_of(&s, MPI_INT) == kRows * kWidth);
    CHECK(!memcmp(mine, got, sizeof mine));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  MPI_Offset n;
  OK(MPI_File_get_size(f, &n));
  CHECK(n == 8 + 4L * kRows * kWidth * size);
  FAILS(MPI_File_set_view(f, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  FAILS(MPI_File_set_view(f, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  FAILS(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "nonsense", MPI_INFO_NULL),
        MPI_ERR_UNSUPPORTED_DATAREP);
  FAILS(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
        MPI_ERR_ARG);
  OK(MPI_File_close(&f));
}

/* external32 against known bytes. */
static void external(void) {
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  unsigned char bytes[8] = {0};
  int v = 0x01020304, w = 0;
  OK(MPI_File_set_view(f, 4L * rank, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(f, 0, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(f, 0, &w, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(v == w);
  OK(MPI_File_read_at_all(f, 0, &w, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(v == w);
  OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(f, 4L * rank, bytes, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4);
  OK(MPI_File_close(&f));
}

/* Shared pointers: every record is somebody's, none twice; ordered ones are in the order of
 * ranks. */
static void shared(void) {
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status s;
  MPI_Offset at;
  int v[2] = {rank, ~rank}, w[2];
  MPI_Request r;
  OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int i = 0; i < 3; i++) {
    OK(MPI_File_write_shared(f, v, 2, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == 2);
  }
  OK(MPI_File_iwrite_shared(f, v, 2, MPI_INT, &r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_get_position_shared(f, &at));
  CHECK(at == 8L * size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
  int seen = 0, total;
  for (int i = 0; i < 4; i++) {
    OK(MPI_File_read_shared(f, w, 2, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == 2 && w[0] == ~w[1]);
    seen += w[0];
  }
  OK(MPI_Allreduce(&seen, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(total == 4 * size * (size - 1) / 2);
  OK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
  OK(MPI_File_write_ordered(f, v, rank % 2 + 1, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == rank % 2 + 1);
  int before = rank + rank / 2;
  OK(MPI_File_read_at(f, before, w, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(w[0] == rank);
  OK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
  OK(MPI_File_read_ordered_begin(f, w, rank % 2 + 1, MPI_INT));
  OK(MPI_File_read_ordered_end(f, w, &s));
  CHECK(w[0] == rank && count_of(&s, MPI_INT) == rank % 2 + 1);
  if (size > 1) FAILS(MPI_File_seek_shared(f, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
  OK(MPI_File_close(&f));
}

static int handled;
static void handler(MPI_File* f, int* code, ...) {
  (void)f;
  ++handled;
  CHECK(*code != MPI_SUCCESS);
}

static void handlers(void) {
  MPI_File f;
  MPI_Errhandler mine, h;
  char text[MPI_MAX_ERROR_STRING];
  int length, code, v = 1;
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &h));
  CHECK(h == MPI_ERRORS_RETURN);
  OK(MPI_File_create_errhandler(handler, &mine));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
  code = MPI_File_open(MPI_COMM_WORLD, "/nowhere/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
  CHECK(handled == 1);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, "MPI_File_open") && strstr(text, "/nowhere/x") &&
        strstr(text, "No such file"));
  f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_get_errhandler(f, &h));
  CHECK(h == mine);
  OK(MPI_Errhandler_free(&h));
  OK(MPI_File_call_errhandler(f, MPI_ERR_IO));
  CHECK(handled == 2);
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK(MPI_File_seek(f, 0, 99) != MPI_SUCCESS);
  CHECK(handled == 3);
  /* One member's bad argument is everybody's error, and nobody waits. */
  MPI_File_set_errhandler(f, MPI_ERRORS_RETURN);
  CHECK(MPI_File_write_at_all(f, rank == 0 ? -1 : 4 * rank, &v, 1, MPI_INT, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS);
  CHECK(MPI_File_f2c(MPI_File_c2f(f)) == f && MPI_File_c2f(MPI_FILE_NULL) == 0);
  OK(MPI_Errhandler_free(&mine));
  OK(MPI_File_close(&f));
  FAILS(MPI_Register_datarep("native", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL),
        MPI_ERR_DUP_DATAREP);
}

static void hints(void) {
  MPI_Info info, used;
  MPI_File f;
  char value[64];
  int flag;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "cb_buffer_size", "4096"));
  OK(MPI_Info_set(info, "romio_cb_write", "enable"));
  OK(MPI_Info_set(info, "romio_cb_read", "enable"));
  OK(MPI_Info_set(info, "cb_nodes", "2"));
  OK(MPI_Info_set(info, "unheard_of", "1"));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f));
  OK(MPI_File_get_info(f, &used));
  OK(MPI_Info_get(used, "cb_buffer_size", 63, value, &flag));
  CHECK(flag && !strcmp(value, "4096"));
  OK(MPI_Info_get(used, "unheard_of", 63, value, &flag));
  CHECK(!flag);
  /* Blocks of 1000 bytes in turn, through two aggregators in many rounds. */
  MPI_Datatype every;
  static unsigned char out[20000], in[20000];
  OK(MPI_Type_vector(20, 1000, 1000 * size, MPI_BYTE, &every));
  OK(MPI_Type_commit(&every));
  OK(MPI_File_set_view(f, 1000L * rank, MPI_BYTE, every, "native", MPI_INFO_NULL));
  for (int i = 0; i < 20000; i++) out[i] = (unsigned char)(rank + i * 7);
  OK(MPI_File_write_all(f, out, 20000, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(f, 0, in, 20000, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(!memcmp(in, out, 20000));
  memset(in, 0, sizeof in);
  OK(MPI_File_read_at(f, 0, in, 20000, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(!memcmp(in, out, 20000));
  OK(MPI_Type_free(&every));
  OK(MPI_Info_free(&info));
  OK(MPI_Info_free(&used));
  OK(MPI_File_close(&f));
}

static void parts(void (*part)(void), int remove) {
  part();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (remove && rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  start(&argc, &argv, "files");
  parts(modes, 0);
  parts(individual, 1);
  parts(views, 1);
  parts(external, 1);
  parts(shared, 1);
  parts(handlers, 1);
  parts(hints, 1);
  return finish();
}
