/* Broadcasts that go in pieces: of lengths about those of a piece and of several ones, from each of
 * some roots. The ranks give different types of one signature: rows, columns, irregular blocks. */
#include <string.h>

#include "mpitest.h"

enum { kPiece = 8 << 20, kTypes = 4 };

static int rank, size;

/* `n` ints as a type of this kind; *extent: ints that one element of it extends over. */
static MPI_Datatype make_type(int kind, int n, long* extent) {
  MPI_Datatype type, part;
  const int half = n / 2;
  switch (kind) {
    case 0:
      OK(MPI_Type_contiguous(n, MPI_INT, &type));
      *extent = n;
      break;
    case 1: /* each second int */
      OK(MPI_Type_vector(n, 1, 2, MPI_INT, &type));
      *extent = 2L * n;
      break;
    case 2: { /* the second half before the first, and a gap */
      const int lengths[] = {half, n - half}, places[] = {n - half + 3, 1};
      OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &type));
      *extent = n + 4L;
      break;
    }
    default: { /* rows of three with a gap, and the rest */
      const int lengths[] = {1, n % 3};
      const MPI_Aint places[] = {0, (MPI_Aint)(n / 3) * 5 * (MPI_Aint)sizeof(int)};
      OK(MPI_Type_vector(n / 3, 3, 5, MPI_INT, &part));
      const MPI_Datatype types[] = {part, MPI_INT};
      OK(MPI_Type_create_struct(2, lengths, places, types, &type));
      OK(MPI_Type_free(&part));
      *extent = n / 3 * 5L + 3;
    }
  }
  OK(MPI_Type_commit(&type));
  return type;
}

static int value(int i, int seed) { return i * 17 + seed; }

/* Rank r uses the kind number r + shift; all of them the same where shift is negative. */
static void check(int n, int root, int shift) {
  long extent;
  const int kind = shift < 0 ? -shift % kTypes : (rank + shift) % kTypes;
  MPI_Datatype type = make_type(kind, n, &extent);
  int* memory = malloc((size_t)extent * sizeof(int));
  int* row = malloc((size_t)n * sizeof(int));
  const int bytes = n * (int)sizeof(int);
  int at = 0;
  memset(memory, 0xee, (size_t)extent * sizeof(int));
  for (int i = 0; i < n; i++) row[i] = value(i, root + shift);
  if (rank == root) OK(MPI_Unpack(row, bytes, &at, memory, 1, type, MPI_COMM_WORLD));
  if (rank % 2) {
    OK(MPI_Bcast(memory, 1, type, root, MPI_COMM_WORLD));
  } else { /* the same as a type of one int, where that is the layout */
    OK(MPI_Bcast(memory, kind ? 1 : n, kind ? type : MPI_INT, root, MPI_COMM_WORLD));
  }
  memset(row, 0, (size_t)bytes);
  at = 0;
  OK(MPI_Pack(memory, 1, type, row, bytes, &at, MPI_COMM_WORLD));
  for (int i = 0; i < n; i++) CHECK(row[i] == value(i, root + shift));
  /* The gaps are as they were. */
  for (int i = 0; i < n; i++) row[i] = (int)0xeeeeeeee;
  at = 0;
  OK(MPI_Unpack(row, bytes, &at, memory, 1, type, MPI_COMM_WORLD));
  for (long i = 0; i < extent; i++) CHECK(memory[i] == (int)0xeeeeeeee);
  free(row);
  free(memory);
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int piece = kPiece / (int)sizeof(int);
  const int lengths[] = {7, piece - 1, piece, piece + 1, 2 * piece + 5};
  for (int i = 0; i < 5; i++)
    for (int shift = -1; shift < 2; shift++) {
      check(lengths[i], 0, shift);
      if (size > 1) check(lengths[i], size - 1, shift);
    }
  for (int shift = -kTypes; shift < kTypes; shift++) check(piece + 3, size / 2, shift);
  return finish();
}
