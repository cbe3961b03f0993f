/* Programs that lean on buffering: everybody sends much before anybody receives. They run wherever
 * all of it is kept in memory, so they run here; a limit that would stop them gives way. What is
 * behind it stays in order. */
#include <string.h>

#include "mpitest.h"

enum { kTag = 3, kMost = 3000 };

static int size_of(int i) { return i % 7 == 0 ? kMost : i % 3 == 0 ? 200 : 4; }

static void fill(char* b, int n, int from, int i) { memset(b, (from * 31 + i) & 0x7f, n); }

static void check(const char* b, int n, int from, int i) {
  for (int k = 0; k < n; ++k) CHECK(b[k] == (char)((from * 31 + i) & 0x7f));
}

/* Each rank sends `messages` to the next `fan` ranks, then receives those of the ones before it. */
static void flood(int rank, int size, int messages, int fan) {
  char b[kMost];
  MPI_Status status;
  for (int f = 1; f <= fan; ++f)
    for (int i = 0; i < messages; ++i) {
      fill(b, size_of(i), rank, i);
      OK(MPI_Send(b, size_of(i), MPI_CHAR, (rank + f) % size, kTag + f, MPI_COMM_WORLD));
    }
  for (int f = fan; f >= 1; --f)
    for (int i = 0; i < messages; ++i) {
      int n, from = (rank + size - f % size) % size;
      OK(MPI_Recv(b, kMost, MPI_CHAR, from, kTag + f, MPI_COMM_WORLD, &status));
      OK(MPI_Get_count(&status, MPI_CHAR, &n));
      CHECK(n == size_of(i));
      check(b, n, from, i);
    }
}

/* The same with requests that wait together, columns of matrices, and a synchronous send among them
 * that must not return before its receive has begun. */
static void requests(int rank, int size) {
  enum { kN = 40, kRows = 30 };
  static int out[kN][kRows][4], in[kRows];
  MPI_Datatype column;
  MPI_Request r[kN + 1];
  int to = (rank + 1) % size, from = (rank + size - 1) % size, flag, early = 0, late;
  OK(MPI_Type_vector(kRows, 1, 4, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  for (int i = 0; i < kN; ++i) {
    for (int k = 0; k < kRows; ++k) out[i][k][1] = rank * 1000 + i + k;
    OK(MPI_Isend(&out[i][0][1], 1, column, to, kTag, MPI_COMM_WORLD, &r[i]));
  }
  OK(MPI_Issend(&early, 1, MPI_INT, to, kTag + 1, MPI_COMM_WORLD, &r[kN]));
  OK(MPI_Waitall(kN, r, MPI_STATUSES_IGNORE)); /* before any receive */
  OK(MPI_Test(&r[kN], &flag, MPI_STATUS_IGNORE));
  CHECK(!flag || size == 1 || early == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Test(&r[kN], &flag, MPI_STATUS_IGNORE));
  CHECK(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Recv(&late, 1, MPI_INT, from, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < kN; ++i) {
    OK(MPI_Recv(in, kRows, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = 0; k < kRows; ++k) CHECK(in[k] == from * 1000 + i + k);
  }
  OK(MPI_Wait(&r[kN], MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&column));
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  flood(rank, size, size > 20 ? 60 : 400, 1);
  if (size > 2 && size <= 20) flood(rank, size, 150, 2);
  requests(rank, size);
  flood(rank, size, 20, 1);
  return finish();
}
