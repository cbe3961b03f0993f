/* A user's operation whose function is written without a prototype, on complex numbers of a
 * structure. */
#include <stdlib.h>
#include "mpi.h"

typedef struct {
  double re, im;
} complex;

void multiply(in, inout, len, type) complex *in, *inout;
int* len;
MPI_Datatype* type;
{
  int i;
  complex c;
  for (i = 0; i < *len; i++) {
    c.re = inout->re * in->re - inout->im * in->im;
    c.im = inout->re * in->im + inout->im * in->re;
    *inout = c;
    in++;
    inout++;
  }
}

main(argc, argv) int argc;
char** argv;
{
  complex a[100], answer[100];
  MPI_Op product;
  MPI_Datatype type;
  int i, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  for (i = 0; i < 100; i++) a[i].re = 0, a[i].im = 1;
  MPI_Type_contiguous(2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Op_create((MPI_User_function*)multiply, 1, &product);
  MPI_Allreduce(a, answer, 100, type, product, MPI_COMM_WORLD);
  for (i = 0; i < 100; i++)
    if (answer[i].re != (all % 4 == 0) - (all % 4 == 2) ||
        answer[i].im != (all % 4 == 1) - (all % 4 == 3))
      abort();
  MPI_Op_free(&product);
  MPI_Type_free(&type);
  MPI_Finalize();
  exit(0);
}
