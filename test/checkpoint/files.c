/* Files go on as they were: view, pointers, mode, hints, atomicity, error handlers, operations under
 * way. files keep: the files stay behind, so that the job can be started again. */
#include <unistd.h>

#include "checkpoint.h"

enum { kBlocks = 6 };
static int keep;
static char base[200];

static const char* name_of(const char* what) {
  static char names[4][300];
  static int next;
  char* name = names[next++ % 4];
  snprintf(name, sizeof names[0], "%s.%s", base, what);
  return name;
}

static int handled;
static MPI_File handled_file;
static void handle(MPI_File* file, int* code, ...) {
  (void)code;
  handled_file = *file;
  ++handled;
}

/* One file of all ranks, in reverse order, of which each has every size-th integer. */
typedef struct Interleaved {
  MPI_File file;
  int self, pending[2];
  MPI_Request writes, reads;
} Interleaved;

static void check_interleaved_view(MPI_File file, int self, MPI_Offset at) {
  MPI_Offset disp, position, byte;
  MPI_Datatype etype, filetype;
  MPI_Aint lower, extent;
  char representation[MPI_MAX_DATAREP_STRING];
  MPI_File_get_view(file, &disp, &etype, &filetype, representation);
  CHECK(disp == 8 && etype == MPI_INT && strcmp(representation, "native") == 0);
  MPI_Type_get_extent(filetype, &lower, &extent);
  CHECK(lower == 0 && extent == (MPI_Aint)(size * sizeof(int)));
  MPI_Type_free(&filetype);
  MPI_File_get_position(file, &position);
  MPI_File_get_byte_offset(file, position, &byte);
  CHECK(position == at && byte == 8 + (MPI_Offset)sizeof(int) * (at * size + self));
}

static void open_interleaved(Interleaved* it) {
  MPI_Comm reversed;
  MPI_Info info;
  MPI_Datatype one, mine;
  int at[] = {0};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_rank(reversed, &it->self);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_File_open(reversed, name_of("interleaved"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &it->file);
  MPI_Info_free(&info);
  MPI_Comm_free(&reversed);
  at[0] = it->self;
  MPI_Type_create_indexed_block(1, 1, at, MPI_INT, &one);
  MPI_Type_create_resized(one, 0, (MPI_Aint)(size * sizeof(int)), &mine);
  MPI_Type_commit(&mine);
  MPI_File_set_view(it->file, 8, MPI_INT, mine, "native", MPI_INFO_NULL);
  MPI_Type_free(&mine);
  MPI_Type_free(&one);
  MPI_File_set_atomicity(it->file, 1);
  for (int i = 0; i < kBlocks / 2; ++i) {
    const int value = 100 * i + it->self;
    MPI_File_write_all(it->file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
}

static void begin_operations(Interleaved* it) {
  it->pending[0] = 100 * (kBlocks - 1) + it->self;
  it->pending[1] = -1;
  MPI_File_iwrite_at(it->file, kBlocks - 1, &it->pending[0], 1, MPI_INT, &it->writes);
  MPI_File_iread_at_all(it->file, 1, &it->pending[1], 1, MPI_INT, &it->reads);
}

static void end_interleaved(Interleaved* it) {
  int flag, amode, atomic, n, same, values[kBlocks];
  char text[20];
  MPI_Status status;
  MPI_Info info;
  MPI_Group group, world;
  check_interleaved_view(it->file, it->self, kBlocks / 2);
  MPI_Wait(&it->writes, &status);
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 1 && it->writes == MPI_REQUEST_NULL);
  MPI_Wait(&it->reads, MPI_STATUS_IGNORE);
  CHECK(it->pending[1] == 100 + it->self);
  MPI_File_get_amode(it->file, &amode);
  CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
  MPI_File_get_atomicity(it->file, &atomic);
  CHECK(atomic);
  MPI_File_get_info(it->file, &info);
  MPI_Info_get(info, "cb_buffer_size", 19, text, &flag);
  CHECK(flag && strcmp(text, "65536") == 0);
  MPI_Info_free(&info);
  MPI_File_get_group(it->file, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &same);
  CHECK(same == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
  MPI_Group_rank(group, &n);
  CHECK(n == it->self);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  for (int i = kBlocks / 2; i < kBlocks - 1; ++i) {
    const int value = 100 * i + it->self;
    MPI_File_write_all(it->file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  MPI_File_seek(it->file, 0, MPI_SEEK_SET);
  MPI_File_read_all(it->file, values, kBlocks, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < kBlocks; ++i) CHECK(values[i] == 100 * i + it->self);
  MPI_File_close(&it->file);
  CHECK(it->file == MPI_FILE_NULL);
}

/* The shared pointer, and a file that is only appended to. */
static MPI_File open_ordered(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name_of("ordered"),
                MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
  MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  return file;
}

static void end_ordered(MPI_File* file) {
  MPI_Offset at, bytes;
  unsigned char four[4];
  int amode;
  MPI_File_get_position_shared(*file, &at);
  CHECK(at == size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_amode(*file, &amode);
  CHECK(amode & MPI_MODE_APPEND);
  MPI_File_get_size(*file, &bytes);
  CHECK(bytes == 4 * size); /* after a restart, too, though the job has written more before */
  const int again = rank + size;
  MPI_File_write_ordered(*file, &again, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(file);
  MPI_File_open(MPI_COMM_SELF, name_of("ordered"), MPI_MODE_RDONLY, MPI_INFO_NULL, file);
  MPI_File_read_at(*file, 4 * (size + rank), four, 4, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK(four[2] * 256 + four[3] == again);
  MPI_File_close(file);
}

static MPI_File open_scratch(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name_of("scratch"),
                MPI_MODE_CREATE | MPI_MODE_RDWR | (keep ? 0 : MPI_MODE_DELETE_ON_CLOSE),
                MPI_INFO_NULL, &file);
  MPI_File_preallocate(file, 5000);
  return file;
}

static void end_scratch(MPI_File* file) {
  int amode;
  MPI_Offset bytes;
  CHECK(access(name_of("scratch"), F_OK) == 0);
  MPI_File_get_amode(*file, &amode);
  CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_RDWR | (keep ? 0 : MPI_MODE_DELETE_ON_CLOSE)));
  MPI_File_get_size(*file, &bytes);
  CHECK(bytes == 5000);
  MPI_File_close(file);
  CHECK((access(name_of("scratch"), F_OK) == 0) == keep);
}

static void check_handlers(MPI_File file, MPI_Errhandler handler) {
  MPI_Errhandler found;
  MPI_File none;
  handled = 0;
  MPI_File_get_errhandler(file, &found);
  CHECK(found == handler);
  MPI_Errhandler_free(&found);
  CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS && handled == 1 &&
        handled_file == file);
  CHECK(MPI_File_open(MPI_COMM_SELF, "/nowhere/at all", MPI_MODE_RDONLY, MPI_INFO_NULL, &none) !=
        MPI_SUCCESS);
  CHECK(handled == 2 && handled_file == MPI_FILE_NULL);
}

int main(int argc, char** argv) {
  Interleaved interleaved;
  MPI_Errhandler handler;
  start(&argc, &argv);
  keep = argc > 1;
  if (rank == 0) snprintf(base, sizeof base, "files.%d", (int)getpid());
  MPI_Bcast(base, sizeof base, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File_create_errhandler(handle, &handler);
  open_interleaved(&interleaved);
  MPI_File ordered = open_ordered(), scratch = open_scratch();
  MPI_File_set_errhandler(interleaved.file, handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  begin_operations(&interleaved);
  checkpoint();
  check_handlers(interleaved.file, handler);
  MPI_Errhandler_free(&handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  end_ordered(&ordered);
  end_scratch(&scratch);
  end_interleaved(&interleaved);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && !keep) {
    MPI_File_delete(name_of("interleaved"), MPI_INFO_NULL);
    MPI_File_delete(name_of("ordered"), MPI_INFO_NULL);
  }
  return finish();
}
