/* Derived datatypes on either side, both, truncated, and in a large message. */
#include "mpitest.h"

static int rank, size, next, prev;

static void columns(int n) {
  MPI_Datatype column;
  int *out = malloc(n * n * sizeof(int)), *in = calloc(n * n, sizeof(int)), count;
  MPI_Status s;
  MPI_Request r;
  OK(MPI_Type_vector(n, 1, n, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  for (int i = 0; i < n * n; i++) out[i] = rank * 3 + i;
  for (int form = 0; form < 4; form++) { /* who is scattered: sender 1, receiver 2 */
    for (int i = 0; i < n * n; i++) in[i] = -1;
    OK(MPI_Irecv(in, form & 2 ? 1 : n, form & 2 ? column : MPI_INT, prev, form, MPI_COMM_WORLD,
                 &r));
    if (form & 1)
      OK(MPI_Send(out, 1, column, next, form, MPI_COMM_WORLD));
    else
      OK(MPI_Send(out, n, MPI_INT, next, form, MPI_COMM_WORLD));
    OK(MPI_Wait(&r, &s));
    OK(MPI_Get_count(&s, form & 2 ? column : MPI_INT, &count));
    CHECK(count == (form & 2 ? 1 : n));
    OK(MPI_Get_elements(&s, form & 2 ? column : MPI_INT, &count));
    CHECK(count == n);
    for (int i = 0; i < n; i++) {
      int expected = prev * 3 + (form & 1 ? i * n : i);
      CHECK(in[form & 2 ? i * n : i] == expected);
    }
    if (form & 2 && n > 1) CHECK(in[1] == -1);
  }
  /* Unexpected: received after it has surely come. */
  OK(MPI_Isend(out, 1, column, next, 9, MPI_COMM_WORLD, &r));
  OK(MPI_Probe(prev, 9, MPI_COMM_WORLD, &s));
  OK(MPI_Recv(in, 1, column, prev, 9, MPI_COMM_WORLD, &s));
  for (int i = 0; i < n; i++) CHECK(in[i * n] == prev * 3 + i * n);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Sendrecv_replace(out, 1, column, next, 10, prev, 10, MPI_COMM_WORLD, &s));
  for (int i = 0; i < n; i++) CHECK(out[i * n] == prev * 3 + i * n);
  OK(MPI_Type_free(&column));
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  prev = (rank + size - 1) % size;
  columns(1);
  columns(10);
  if (size <= 16)
    columns(1000);
  else
    columns(100);
  return finish();
}
