/* A master hands out rows of a matrix; all of it lies on main's stack, 6 MB. */
#include <stdio.h>
#include "mpi.h"

#define N 500
#define DONE 99

int main(argc, argv)
int argc;
char* argv[];
{
  double a[N][N], b[N][N], c[N][N], row[N];
  int me, all, i, j, next, answers, who;
  MPI_Status status;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  if (me == 0)
    for (i = 0; i < N; i++)
      for (j = 0; j < N; j++) {
        a[i][j] = i + j;
        b[i][j] = i == j ? 2 : 0;
      }
  MPI_Bcast(b[0], N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (me != 0) {
    for (;;) {
      MPI_Recv(row, N, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == DONE) break;
      for (j = 0; j < N; j++) row[j] *= b[0][0];
      MPI_Send(row, N, MPI_DOUBLE, 0, status.MPI_TAG, MPI_COMM_WORLD);
    }
  } else {
    next = answers = 0;
    for (who = 1; who < all; who++)
      if (next < N) {
        MPI_Send(a[next], N, MPI_DOUBLE, who, 100 + next, MPI_COMM_WORLD);
        next++;
      } else {
        MPI_Send(row, 0, MPI_DOUBLE, who, DONE, MPI_COMM_WORLD);
      }
    while (all > 1 && answers < N) {
      MPI_Recv(row, N, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      for (j = 0; j < N; j++) c[status.MPI_TAG - 100][j] = row[j];
      answers++;
      if (next < N) {
        MPI_Send(a[next], N, MPI_DOUBLE, status.MPI_SOURCE, 100 + next, MPI_COMM_WORLD);
        next++;
      } else {
        MPI_Send(row, 0, MPI_DOUBLE, status.MPI_SOURCE, DONE, MPI_COMM_WORLD);
      }
    }
    for (i = 0; all > 1 && i < N; i++)
      for (j = 0; j < N; j++)
        if (c[i][j] != 2 * (i + j)) {
          printf("c[%d][%d] is %f\n", i, j, c[i][j]);
          MPI_Abort(MPI_COMM_WORLD, 1);
        }
  }
  MPI_Finalize();
  return 0;
}
