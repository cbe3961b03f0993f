/* Reductions on what is neither an integer nor a sum: pairs with gaps, logical and bitwise
 * operations, complex and long double numbers, over all ranks, blocking and not. */
#include <complex.h>

#include "mpitest.h"

typedef struct {
  double value;
  int where;
} DoubleInt;
typedef struct {
  int value, where;
} IntInt;
typedef struct {
  short value;
  int where;
} ShortInt;
typedef struct {
  long double value;
  int where;
} LongDoubleInt;

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Request request;

  DoubleInt d[3], dm[3];
  for (int i = 0; i < 3; ++i) {
    d[i].value = (rank * 7 + i) % 5;
    d[i].where = rank;
  }
  OK(MPI_Allreduce(d, dm, 3, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) {
    int best = 0;
    for (int r = 1; r < size; ++r)
      if ((r * 7 + i) % 5 > (best * 7 + i) % 5) best = r;
    CHECK(dm[i].where == best && dm[i].value == (best * 7 + i) % 5);
  }
  IntInt n = {(rank * 3) % 7, rank}, nm;
  OK(MPI_Iallreduce(&n, &nm, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(nm.value == 0 && nm.where == 0);
  LongDoubleInt l = {rank + 0.5L, rank}, lm;
  OK(MPI_Reduce(&l, &lm, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, size - 1, MPI_COMM_WORLD));
  if (rank == size - 1) CHECK(lm.value == size - 0.5L && lm.where == size - 1);
  OK(MPI_Scan(&l, &lm, 1, MPI_LONG_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK(lm.value == 0.5L && lm.where == 0);

  ShortInt h[2] = {{(short)(rank - 3), rank}, {1, size - rank}}, hm[2];
  for (int i = 0; i < 2; ++i) hm[i].where = -1;
  OK(MPI_Allreduce(h, hm, 2, MPI_SHORT_INT, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK(hm[0].value == -3 && hm[0].where == 0 && hm[1].value == 1 && hm[1].where == 1);

  int truth = rank != size / 2, all, any;
  OK(MPI_Allreduce(&truth, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  OK(MPI_Allreduce(&truth, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  CHECK(!all && (any || size == 1));
  unsigned char bit = (unsigned char)(1u << (rank % 8)), bits;
  OK(MPI_Allreduce(&bit, &bits, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
  CHECK(bits == (unsigned char)(size >= 8 ? 0xff : (1u << size) - 1));

  double complex z = rank + 1.0 * I, zs;
  OK(MPI_Allreduce(&z, &zs, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
  CHECK(creal(zs) == size * (size - 1) / 2.0 && cimag(zs) == size);
  long double x = rank, xs;
  OK(MPI_Allreduce(&x, &xs, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  CHECK(xs == size * (size - 1) / 2.0L);
  OK(MPI_Exscan(&x, &xs, 1, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  if (rank > 0) CHECK(xs == rank - 1);
  short s[2] = {(short)rank, 1}, sp[2];
  OK(MPI_Reduce_scatter_block(s, sp, size == 1 ? 2 : 0, MPI_SHORT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(MPI_IN_PLACE, s, 2, MPI_SHORT, MPI_PROD, MPI_COMM_WORLD));
  CHECK(s[1] == 1 && s[0] == 0);
  return finish();
}
