/* What etypes and filetypes may be (MPI-4.0 section 14.3): displacements that are negative, descend
 * or overlap; filetypes that overlap the next one, are not made of etypes, or have no bytes at all
 * at some ranks. A view that was refused leaves the one before. */
#include <string.h>

#include "filetest.h"

static MPI_File create(int mode) {
  MPI_File f;
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f));
  return f;
}

static MPI_Datatype pair(int first, int length, int second) {
  MPI_Datatype type;
  OK(MPI_Type_indexed(2, (int[]){length, 1}, (int[]){first, second}, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

/* `error`: the class, or MPI_SUCCESS. As etype, and as filetype of integers; then the last rank's
 * alone. */
static void expect(MPI_File f, MPI_Datatype type, int error, const char* words) {
  for (int as_etype = 0; as_etype < 2; as_etype++)
    for (int all = 0; all < 2; all++) {
      char text[MPI_MAX_ERROR_STRING] = "";
      int length;
      const int bad = all || rank == size - 1;
      const MPI_Datatype fine = as_etype ? MPI_2INT : MPI_INT;
      if (!all && as_etype && error == MPI_SUCCESS) continue; /* sizes of etypes would differ */
      const int code = MPI_File_set_view(f, 0, bad && as_etype ? type : fine, bad ? type : fine,
                                         "native", MPI_INFO_NULL);
      CHECK(class_of(code) == error);
      OK(MPI_Error_string(code, text, &length));
      CHECK(error == MPI_SUCCESS || (strstr(text, "MPI_File_set_view") && strstr(text, words)));
      if (error == MPI_SUCCESS) continue;
      MPI_Offset disp;
      MPI_Datatype etype, filetype;
      char rep[MPI_MAX_DATAREP_STRING];
      OK(MPI_File_get_view(f, &disp, &etype, &filetype, rep));
      CHECK(disp == 1 && etype == MPI_BYTE && filetype == MPI_BYTE);
    }
}

static void refused(int mode) {
  const int reads = mode & MPI_MODE_RDONLY;
  MPI_File f = create(mode);
  MPI_Datatype negative = pair(-2, 1, 2), descending = pair(3, 1, 0), overlapping = pair(0, 3, 1),
               both, long_way, resized, short_way;
  MPI_Aint lb, extent;
  OK(MPI_File_set_view(f, 1, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  expect(f, negative, MPI_ERR_IO, "a displacement of -8 bytes; allowed are");
  expect(f, descending, MPI_ERR_IO, "descend; allowed are");
  /* The same a level deeper, and by a stride that is negative. */
  OK(MPI_Type_contiguous(3, descending, &both));
  OK(MPI_Type_commit(&both));
  expect(f, both, MPI_ERR_IO, "descend; allowed are");
  OK(MPI_Type_create_hvector(3, 1, -8, MPI_INT, &long_way));
  OK(MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){16}, long_way, &resized));
  OK(MPI_Type_commit(&resized));
  expect(f, resized, MPI_ERR_IO, "descend; allowed are");
  if (!reads) expect(f, overlapping, MPI_ERR_IO, "overlap; allowed in files that are written");
  OK(MPI_File_set_view(f, 1, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_Type_contiguous(5, MPI_BYTE, &short_way));
  OK(MPI_Type_commit(&short_way));
  FAILS(MPI_File_set_view(f, 0, MPI_INT, short_way, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  OK(MPI_Type_get_extent(overlapping, &lb, &extent));
  if (reads) {
    int got[8];
    expect(f, overlapping, MPI_SUCCESS, "");
    OK(MPI_File_set_view(f, 0, MPI_INT, overlapping, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(f, 0, got, 8, MPI_INT, MPI_STATUS_IGNORE));
    const int want[] = {0, 1, 2, 1, 3, 4, 5, 4};
    CHECK(!memcmp(got, want, sizeof got));
  }
  MPI_Datatype* all[] = {&negative, &descending, &overlapping, &both,
                         &long_way, &resized,    &short_way};
  for (int i = 0; i < 7; i++) OK(MPI_Type_free(all[i]));
  OK(MPI_File_close(&f));
}

/* A filetype whose extent is less than its span may be written: within one filetype nothing
 * overlaps, and where an access reaches into the next one, the later bytes stay. Each rank has a
 * part of the file of its own. */
static void tiles_overlap(int collective) {
  MPI_File f = create(MPI_MODE_RDWR);
  MPI_Datatype spread, tile; /* ints 0 and 4 to 6, the next begins at int 2 */
  OK(MPI_Type_indexed(2, (int[]){1, 3}, (int[]){0, 4}, MPI_INT, &spread));
  OK(MPI_Type_create_resized(spread, 0, 8, &tile));
  OK(MPI_Type_commit(&tile));
  MPI_Status s;
  int v[8], got[12];
  for (int i = 0; i < 8; i++) v[i] = 100 * (rank + 1) + i;
  memset(got, 0, sizeof got);
  OK(MPI_File_set_view(f, 64L * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(f, 0, got, 12, MPI_INT, &s));
  OK(MPI_File_set_view(f, 64L * rank, MPI_INT, tile, "native", MPI_INFO_NULL));
  if (collective)
    OK(MPI_File_write_at_all(f, 4, v, 8, MPI_INT, &s));
  else
    OK(MPI_File_write_at(f, 4, v, 8, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 8);
  OK(MPI_File_read_at_all(f, 4, got, 8, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 8);
  /* Tile 1: ints 2, 6, 7, 8; tile 2: ints 4, 8, 9, 10. */
  const int kept[] = {v[0], v[1], v[2], v[5], v[4], v[5], v[6], v[7]};
  CHECK(!memcmp(got, kept, sizeof kept));
  OK(MPI_File_set_view(f, 64L * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at_all(f, 0, got, 12, MPI_INT, &s));
  const int all[] = {0, 0, v[0], 0, v[4], 0, v[1], v[2], v[5], v[6], v[7], 0};
  CHECK(!memcmp(got, all, sizeof all));
  OK(MPI_Type_free(&spread));
  OK(MPI_Type_free(&tile));
  OK(MPI_File_close(&f));
}

/* Odd ranks have no part in the file: they take part in collective calls with nothing. */
static void empty(void) {
  MPI_File f = create(MPI_MODE_RDWR);
  MPI_Datatype none, every;
  MPI_Offset at;
  MPI_Status s;
  int v[4], got[4];
  OK(MPI_Type_contiguous(0, MPI_INT, &none));
  OK(MPI_Type_commit(&none));
  OK(MPI_Type_vector(4, 1, size, MPI_INT, &every));
  OK(MPI_Type_commit(&every));
  const int odd = rank % 2;
  for (int i = 0; i < 4; i++) v[i] = 100 * rank + i;
  OK(MPI_File_set_view(f, 4L * rank, MPI_INT, odd ? none : every, "native", MPI_INFO_NULL));
  OK(MPI_File_write_all(f, v, odd ? 0 : 4, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == (odd ? 0 : 4));
  OK(MPI_File_read_at_all(f, 0, got, odd ? 0 : 4, MPI_INT, &s));
  CHECK(odd || !memcmp(v, got, sizeof got));
  if (odd) {
    OK(MPI_File_write_at(f, 3, v, 0, MPI_INT, &s));
    FAILS(MPI_File_write_at(f, 0, v, 1, MPI_INT, &s), MPI_ERR_IO);
    FAILS(MPI_File_read(f, got, 1, MPI_INT, &s), MPI_ERR_IO);
    OK(MPI_File_get_byte_offset(f, 0, &at));
    CHECK(at == 4L * rank);
    OK(MPI_File_seek(f, 0, MPI_SEEK_END));
  }
  OK(MPI_Type_free(&none));
  OK(MPI_Type_free(&every));
  OK(MPI_File_close(&f));
}

int main(int argc, char** argv) {
  start(&argc, &argv, "views");
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_WRONLY);
  int v[16];
  for (int i = 0; i < 16; i++) v[i] = i;
  if (rank == 0) OK(MPI_File_write_at(f, 0, v, 16, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&f));
  refused(MPI_MODE_RDONLY);
  refused(MPI_MODE_RDWR);
  refused(MPI_MODE_WRONLY);
  tiles_overlap(0);
  tiles_overlap(1);
  empty();
  if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
  return finish();
}
