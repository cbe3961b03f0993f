/* The communication of a 2-D pencil-decomposed spectral code: transposes inside row and column
 * communicators made by MPI_Comm_split; transposing twice gives back the input. */
#include "mpitest.h"

enum { kBlock = 3 };

static void transpose(const double* in, double* out, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) out[j * n + i] = in[i * n + j];
}

/* Each member owns kBlock rows of a square of n = size*kBlock; afterwards kBlock rows of its
 * transpose. */
static void distributed_transpose(double* rows, MPI_Comm comm) {
  int size;
  OK(MPI_Comm_size(comm, &size));
  int n = size * kBlock;
  double* send = malloc((size_t)kBlock * n * sizeof(double));
  double* receive = malloc((size_t)kBlock * n * sizeof(double));
  for (int p = 0; p < size; ++p) {
    double block[kBlock * kBlock];
    for (int i = 0; i < kBlock; ++i)
      for (int j = 0; j < kBlock; ++j) block[i * kBlock + j] = rows[i * n + p * kBlock + j];
    transpose(block, send + p * kBlock * kBlock, kBlock);
  }
  OK(MPI_Alltoall(send, kBlock * kBlock, MPI_DOUBLE, receive, kBlock * kBlock, MPI_DOUBLE, comm));
  for (int p = 0; p < size; ++p)
    for (int i = 0; i < kBlock; ++i)
      for (int j = 0; j < kBlock; ++j)
        rows[i * n + p * kBlock + j] = receive[(p * kBlock + i) * kBlock + j];
  free(send), free(receive);
}

static void check_comm(MPI_Comm comm) {
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  int n = size * kBlock;
  double* rows = malloc((size_t)kBlock * n * sizeof(double));
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < n; ++j) rows[i * n + j] = 1000.0 * (rank * kBlock + i) + j;
  distributed_transpose(rows, comm);
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < n; ++j) CHECK(rows[i * n + j] == 1000.0 * j + rank * kBlock + i);
  distributed_transpose(rows, comm);
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < n; ++j) CHECK(rows[i * n + j] == 1000.0 * (rank * kBlock + i) + j);
  free(rows);
}

int main(int argc, char** argv) {
  int rank, size, dims[2] = {0, 0};
  MPI_Comm row, column;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Dims_create(size, 2, dims));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank / dims[1], rank, &row));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % dims[1], -rank, &column));
  for (int i = 0; i < 3; ++i) check_comm(row), check_comm(column);
  check_comm(MPI_COMM_SELF);
  OK(MPI_Comm_free(&row));
  OK(MPI_Comm_free(&column));
  return finish();
}
