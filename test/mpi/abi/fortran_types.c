/* Datatypes of Fortran's kinds that a host's mpi.h lacks before MPICH 5.0 are types of the standard
 * ABI: their sizes, names, messages and reductions. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "mpitest.h"

static int rank, size;

static void check_type(MPI_Datatype type, int bytes, const char* wanted) {
  int got, length, flag;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Aint lb, extent;
  OK(MPI_Type_size(type, &got));
  CHECK(got == bytes);
  OK(MPI_Type_get_extent(type, &lb, &extent));
  CHECK(lb == 0 && extent == bytes);
  OK(MPI_Type_get_name(type, name, &length));
  CHECK(strcmp(name, wanted) == 0);
  MPI_Datatype pair[2], contents[1];
  int integers[1], n_integers, n_addresses, n_types;
  MPI_Aint addresses[1];
  OK(MPI_Type_contiguous(2, type, &pair[0]));
  OK(MPI_Type_get_envelope(pair[0], &n_integers, &n_addresses, &n_types, &flag));
  OK(MPI_Type_get_contents(pair[0], 1, 0, 1, integers, addresses, contents));
  CHECK(contents[0] == type);
  OK(MPI_Type_free(&pair[0]));
  unsigned char out[16], in[16] = {0};
  memset(out, 0x11 * (rank + 1), sizeof out);
  OK(MPI_Sendrecv(out, 1, type, (rank + 1) % size, 3, in, 1, type, (rank + size - 1) % size, 3,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 16; ++i)
    CHECK(in[i] == (i < bytes ? (unsigned char)(0x11 * ((rank + size - 1) % size + 1)) : 0));
}

/* A logical of any size, of little-endian bytes. */
static void check_logical(MPI_Datatype type, int bytes) {
  unsigned char mine[16] = {0}, all[16];
  mine[0] = rank == 0;
  const struct {
    MPI_Op op;
    int wanted;
  } cases[] = {{MPI_LAND, size == 1}, {MPI_LOR, 1}, {MPI_LXOR, 1}};
  for (int c = 0; c < 3; ++c) {
    memset(all, 0xff, sizeof all);
    OK(MPI_Allreduce(mine, all, 1, type, cases[c].op, MPI_COMM_WORLD));
    for (int i = 0; i < bytes; ++i) CHECK(all[i] == (i == 0 ? cases[c].wanted : 0));
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int class;
  OK(MPI_Error_class(MPI_Allreduce(mine, all, 1, type, MPI_SUM, MPI_COMM_WORLD), &class));
  CHECK(class == MPI_ERR_OP);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* 2^exponent as IEEE's binary16. */
static uint16_t half(int exponent) { return (uint16_t)((15 + exponent) << 10); }

static void check_reals(void) {
  const uint16_t mine = half(rank % 4);
  uint16_t all;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_REAL2, MPI_MAX, MPI_COMM_WORLD));
  CHECK(all == half(size < 4 ? size - 1 : 3));
  OK(MPI_Allreduce(&mine, &all, 1, MPI_REAL2, MPI_MIN, MPI_COMM_WORLD));
  CHECK(all == half(0));
  const uint16_t factor = half(rank < 5 ? 1 : 0);
  OK(MPI_Allreduce(&factor, &all, 1, MPI_REAL2, MPI_PROD, MPI_COMM_WORLD));
  CHECK(all == half(size < 5 ? size : 5));
  /* The first two ranks bring 1 each, the others 0. */
  const uint16_t parts[2] = {rank < 2 ? half(0) : 0, rank == 0 ? half(3) : 0};
  uint16_t sum[2];
  OK(MPI_Allreduce(parts, sum, 1, MPI_COMPLEX4, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum[0] == half(size > 1) && sum[1] == half(3));
  OK(MPI_Allreduce(parts, sum, 2, MPI_REAL2, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum[0] == half(size > 1) && sum[1] == half(3));
  /* 2i to the power of the size, 2i by the first two ranks: 2i or -4. */
  const uint16_t number[2] = {rank < 2 ? 0 : half(0), rank < 2 ? half(1) : 0};
  OK(MPI_Allreduce(number, sum, 1, MPI_COMPLEX4, MPI_PROD, MPI_COMM_WORLD));
  CHECK(size > 1 ? sum[0] == (half(2) | 0x8000) && (sum[1] & 0x7fff) == 0
                 : sum[0] == 0 && sum[1] == half(1));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const MPI_Datatype logicals[] = {MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8,
                                   MPI_LOGICAL16};
  for (int i = 0; i < 5; ++i) {
    char name[32];
    snprintf(name, sizeof name, "MPI_LOGICAL%d", 1 << i);
    check_type(logicals[i], 1 << i, name);
    check_logical(logicals[i], 1 << i);
  }
  check_type(MPI_INTEGER16, 16, "MPI_INTEGER16");
  const int64_t mine[2] = {-1, rank}; /* 2^64 (rank + 1) - 1 */
  int64_t sum[2];
  OK(MPI_Allreduce(mine, sum, 1, MPI_INTEGER16, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum[0] == -size && sum[1] == (int64_t)size * (size + 1) / 2 - 1);
  check_type(MPI_REAL2, 2, "MPI_REAL2");
  check_type(MPI_COMPLEX4, 4, "MPI_COMPLEX4");
  check_reals();
  return finish();
}
