/* Data representations: external32 against known bytes, also of types that have another size there;
 * representations of the program's own; filetypes that overlap, in files that are read (MPI-4.0
 * sections 14.5 and 14.1.1). */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "filetest.h"

static MPI_File create(int mode) {
  MPI_File f;
  OK(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &f));
  return f;
}

/* What the file has at an offset. */
static void expect_bytes(MPI_File f, MPI_Offset at, const void* bytes, int n) {
  unsigned char got[256];
  MPI_Status s;
  OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(f, at, got, n, MPI_BYTE, &s));
  CHECK(count_of(&s, MPI_BYTE) == n);
  CHECK(!memcmp(got, bytes, (size_t)n));
}

static void write_one(MPI_File f, MPI_Datatype type, const void* value, const void* bytes, int n) {
  char back[64];
  MPI_Status s;
  MPI_Aint extent;
  int size_in_memory;
  OK(MPI_Type_size(type, &size_in_memory));
  OK(MPI_File_set_view(f, 40, type, type, "external32", MPI_INFO_NULL));
  OK(MPI_File_get_type_extent(f, type, &extent));
  CHECK(extent == n);
  OK(MPI_File_write_at(f, 1, value, 1, type, &s));
  CHECK(count_of(&s, type) == 1);
  memset(back, 0, sizeof back);
  OK(MPI_File_read_at(f, 1, back, 1, type, &s));
  CHECK(count_of(&s, type) == 1);
  CHECK(!memcmp(back, value, type == MPI_LONG_DOUBLE ? 10 : (size_t)size_in_memory));
  expect_bytes(f, 40 + n, bytes, n);
}

static void sizes(void) {
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  long l = -2;
  unsigned long ul = 0xfedcba98ul;
  wchar_t w = 0x20ac;
  long double one = -1.5L;
  double d = 1.0;
  struct {
    long value;
    int index;
  } pair = {7, 9}, got;
  write_one(f, MPI_LONG, &l, "\xff\xff\xff\xfe", 4);
  write_one(f, MPI_UNSIGNED_LONG, &ul, "\xfe\xdc\xba\x98", 4);
  write_one(f, MPI_WCHAR, &w, "\x20\xac", 2);
  write_one(f, MPI_LONG_DOUBLE, &one, "\xbf\xff\x80\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  write_one(f, MPI_DOUBLE, &d, "\x3f\xf0\0\0\0\0\0\0", 8);
  OK(MPI_File_set_view(f, 0, MPI_LONG_INT, MPI_LONG_INT, "external32", MPI_INFO_NULL));
  OK(MPI_File_write_at(f, 0, &pair, 1, MPI_LONG_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(f, 0, &got, 1, MPI_LONG_INT, MPI_STATUS_IGNORE));
  CHECK(got.value == 7 && got.index == 9);
  expect_bytes(f, 0, "\0\0\0\x07\0\0\0\x09", 8);
  /* What does not fit is an error, and nothing is written. */
  OK(MPI_File_set_view(f, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  l = 1L << 40;
  FAILS(MPI_File_write_at(f, 0, &l, 1, MPI_LONG, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  expect_bytes(f, 0, "\0\0\0\x07", 4);
  OK(MPI_File_close(&f));
}

/* Columns of an array of longs: displacements in elements are those of the file. Structures: those
 * in bytes stay. */
static void derived(void) {
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status s;
  MPI_Datatype column, mixed, in_file;
  MPI_Aint extent;
  int whole[] = {3, 4}, part[] = {3, 1}, start[] = {0, 2}, n;
  long v[3] = {1, 2, 3}, w[5] = {-1, -1, -1, -1, -1};
  OK(MPI_File_set_size(f, 0));
  OK(MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_LONG, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_File_set_view(f, 0, MPI_LONG, column, "external32", MPI_INFO_NULL));
  OK(MPI_File_get_type_extent(f, column, &extent));
  CHECK(extent == 48);
  OK(MPI_File_write_at(f, 0, v, 3, MPI_LONG, &s));
  CHECK(count_of(&s, MPI_LONG) == 3);
  OK(MPI_File_get_byte_offset(f, 1, &(MPI_Offset){0}));
  OK(MPI_File_seek(f, 0, MPI_SEEK_SET));
  OK(MPI_File_read(f, w, 5, MPI_LONG, &s));
  CHECK(count_of(&s, MPI_LONG) == 3 && w[0] == 1 && w[1] == 2 && w[2] == 3 && w[3] == -1);
  expect_bytes(f, 8, "\0\0\0\x01", 4);
  expect_bytes(f, 24, "\0\0\0\x02", 4);
  OK(MPI_Type_free(&column));
  /* {long, short, long} in memory; in the file the second long is at byte 10. */
  struct {
    long a;
    short b;
    long c;
  } m[2] = {{1, 2, 3}, {4, 5, 6}}, got[2];
  MPI_Aint places[] = {0, offsetof(__typeof__(m[0]), b), offsetof(__typeof__(m[0]), c)};
  MPI_Aint in_file_at[] = {0, 4, 10};
  int lengths[] = {1, 1, 1};
  MPI_Datatype types[] = {MPI_LONG, MPI_SHORT, MPI_LONG};
  OK(MPI_Type_create_struct(3, lengths, places, types, &mixed));
  OK(MPI_Type_create_struct(3, lengths, in_file_at, types, &in_file));
  OK(MPI_Type_commit(&mixed));
  OK(MPI_Type_commit(&in_file));
  OK(MPI_File_set_view(f, 100, mixed, in_file, "external32", MPI_INFO_NULL));
  OK(MPI_File_write_at(f, 0, m, 2, mixed, &s));
  CHECK(count_of(&s, mixed) == 2);
  /* The last item is beyond the end: five of six are there. */
  MPI_Offset end;
  OK(MPI_File_get_size(f, &end));
  CHECK(end == 128);
  OK(MPI_File_set_size(f, 126));
  memset(got, 0, sizeof got);
  OK(MPI_File_read_at(f, 0, got, 2, mixed, &s));
  OK(MPI_Get_elements(&s, mixed, &n));
  CHECK(n == 5 && got[1].a == 4 && got[1].b == 5 && got[1].c == 0 && got[0].c == 3);
  OK(MPI_Type_free(&mixed));
  OK(MPI_Type_free(&in_file));
  OK(MPI_File_close(&f));
}

/* A representation of ours: integers as eight decimal digits. */
static int calls;
static int digits_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  *(int*)state += 1;
  *extent = 8;
  return type == MPI_INT ? MPI_SUCCESS : MPI_ERR_TYPE;
}
/* The element `i` of buffers of MPI_INT, or of two of each three ints. */
static int* place_of(void* buffer, MPI_Datatype type, MPI_Offset i) {
  return (int*)buffer + (type == MPI_INT ? i : i / 2 * 3 + i % 2);
}
static int from_digits(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                       void* state) {
  char text[9] = {0};
  ++*(int*)state;
  for (int i = 0; i < count; i++) {
    memcpy(text, (char*)file + 8 * i, 8);
    *place_of(buffer, type, position + i) = atoi(text);
  }
  return MPI_SUCCESS;
}
static int to_digits(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                     void* state) {
  char text[16];
  ++*(int*)state;
  for (int i = 0; i < count; i++) {
    const int value = *place_of(buffer, type, position + i);
    if (value < 0) return MPI_ERR_ARG;
    snprintf(text, sizeof text, "%08d", value);
    memcpy((char*)file + 8 * i, text, 8);
  }
  return MPI_SUCCESS;
}
static int to_digits_c(void* buffer, MPI_Datatype type, MPI_Count count, void* file,
                       MPI_Offset position, void* state) {
  return to_digits(buffer, type, (int)count, file, position, state);
}

static void registered(void) {
  char rep[64];
  snprintf(rep, sizeof rep, "digits of %d", rank);
  OK(MPI_Register_datarep(rep, from_digits, to_digits, digits_extent, &calls));
  FAILS(MPI_Register_datarep(rep, from_digits, to_digits, digits_extent, &calls),
        MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep("no extent", from_digits, to_digits, NULL, NULL), MPI_ERR_ARG);
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype every, pairs;
  MPI_Status s;
  MPI_Request r;
  MPI_Aint extent;
  int v[6] = {1, 22, 333, 4444, 5, 66}, w[6] = {0}, negative = -1;
  OK(MPI_File_set_size(f, 0));
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &every));
  OK(MPI_Type_commit(&every));
  OK(MPI_File_set_view(f, 0, MPI_INT, every, rep, MPI_INFO_NULL));
  OK(MPI_File_get_type_extent(f, every, &extent));
  CHECK(extent == 24);
  OK(MPI_File_write_all(f, v, 3, MPI_INT, &s));
  CHECK(count_of(&s, MPI_INT) == 3);
  OK(MPI_File_iread_at(f, 0, w, 3, MPI_INT, &r));
  OK(MPI_Wait(&r, &s));
  CHECK(count_of(&s, MPI_INT) == 3 && !memcmp(v, w, 12));
  FAILS(MPI_File_write_at(f, 0, &negative, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  FAILS(MPI_File_set_view(f, 0, MPI_DOUBLE, MPI_DOUBLE, rep, MPI_INFO_NULL), MPI_ERR_CONVERSION);
  expect_bytes(f, 0, "00000001", 8);
  expect_bytes(f, 16, "00000022", 8);
  expect_bytes(f, 24, "00000333", 8);
  /* Derived elements: the functions get the type and the number of integers. */
  OK(MPI_Type_vector(1, 2, 3, MPI_INT, &every));
  OK(MPI_Type_create_resized(every, 0, 12, &pairs));
  OK(MPI_Type_commit(&pairs));
  OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, rep, MPI_INFO_NULL));
  OK(MPI_File_write_at(f, 0, v, 2, pairs, &s));
  CHECK(count_of(&s, pairs) == 2);
  memset(w, 0, sizeof w);
  OK(MPI_File_read_at(f, 0, w, 2, pairs, &s));
  CHECK(w[0] == 1 && w[1] == 22 && w[2] == 0 && w[3] == 4444 && w[4] == 5 && w[5] == 0);
  expect_bytes(f, 16, "00004444", 8);
  CHECK(calls > 0);
  /* With large counts; reads need no conversion. */
  snprintf(rep, sizeof rep, "large digits of %d", rank);
  OK(MPI_Register_datarep_c(rep, MPI_CONVERSION_FN_NULL_C, to_digits_c, digits_extent, &calls));
  OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, rep, MPI_INFO_NULL));
  OK(MPI_File_write_at(f, 0, v + 4, 1, MPI_INT, &s));
  expect_bytes(f, 0, "00000005", 8);
  OK(MPI_Type_free(&pairs));
  OK(MPI_Type_free(&every));
  OK(MPI_File_close(&f));
}

/* Doubles at bytes 0 and 4, and filetypes that begin before the last one has ended. */
static void overlapping(void) {
  MPI_File f = create(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype both, close;
  MPI_Aint at[] = {0, 4};
  int lengths[] = {1, 1};
  unsigned char bytes[64], got[64];
  MPI_Status s;
  for (int i = 0; i < 64; i++) bytes[i] = (unsigned char)(i + rank);
  OK(MPI_File_set_size(f, 0));
  OK(MPI_File_write_at(f, 0, bytes, 60, MPI_BYTE, &s));
  OK(MPI_Type_create_hindexed(2, lengths, at, MPI_DOUBLE, &both));
  OK(MPI_Type_create_resized(both, 0, 8, &close));
  OK(MPI_Type_commit(&close));
  FAILS(MPI_File_set_view(f, 0, MPI_DOUBLE, close, "native", MPI_INFO_NULL), MPI_ERR_IO);
  OK(MPI_File_close(&f));
  f = create(MPI_MODE_RDONLY);
  OK(MPI_File_set_view(f, 3, MPI_DOUBLE, close, "native", MPI_INFO_NULL));
  for (int collective = 0; collective < 2; collective++) {
    memset(got, 0xee, sizeof got);
    if (collective)
      OK(MPI_File_read_at_all(f, 1, got, 6, MPI_DOUBLE, &s));
    else
      OK(MPI_File_read_at(f, 1, got, 6, MPI_DOUBLE, &s));
    CHECK(count_of(&s, MPI_DOUBLE) == 6);
    for (int i = 0; i < 6; i++) CHECK(!memcmp(got + 8 * i, bytes + 3 + 4 * (i + 1), 8));
    /* The end of the file: doubles 12 and 13 are at bytes 51 and 55, the last one is not whole. */
    if (collective)
      OK(MPI_File_read_at_all(f, 12, got, 4, MPI_DOUBLE, &s));
    else
      OK(MPI_File_read_at(f, 12, got, 4, MPI_DOUBLE, &s));
    MPI_Count n;
    OK(MPI_Get_elements_x(&s, MPI_BYTE, &n));
    CHECK(n == 13 && !memcmp(got, bytes + 51, 8) && !memcmp(got + 8, bytes + 55, 5));
  }
  OK(MPI_File_close(&f));
  OK(MPI_Type_free(&close));
  OK(MPI_Type_free(&both));
}

int main(int argc, char** argv) {
  start(&argc, &argv, "datareps");
  snprintf(name + strlen(name), 20, "_%d", rank);
  sizes();
  derived();
  registered();
  overlapping();
  OK(MPI_File_delete(name, MPI_INFO_NULL));
  return finish();
}
