/* Heat on a plate: two large arrays on main's stack, function definitions without prototypes. */
#include <stdio.h>
#include "mpi.h"

#define ROWS 250
#define COLS 500

sweep(from, to, rows) double from[][COLS], to[][COLS];
int rows;
{
  int i, j;
  for (i = 1; i <= rows; i++)
    for (j = 1; j < COLS - 1; j++)
      to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
}

main(argc, argv) int argc;
char** argv;
{
  double old[ROWS + 2][COLS], new[ROWS + 2][COLS]; /* 2 MB */
  double mine, sum;
  int me, all, i, j, step, up, down;
  MPI_Status status;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  up = me == 0 ? MPI_PROC_NULL : me - 1;
  down = me == all - 1 ? MPI_PROC_NULL : me + 1;
  for (i = 0; i < ROWS + 2; i++)
    for (j = 0; j < COLS; j++) old[i][j] = new[i][j] = 1.0;
  for (step = 0; step < 4; step++) {
    MPI_Sendrecv(old[1], COLS, MPI_DOUBLE, up, 1, old[ROWS + 1], COLS, MPI_DOUBLE, down, 1,
                 MPI_COMM_WORLD, &status);
    MPI_Sendrecv(old[ROWS], COLS, MPI_DOUBLE, down, 2, old[0], COLS, MPI_DOUBLE, up, 2,
                 MPI_COMM_WORLD, &status);
    sweep(old, new, ROWS);
    sweep(new, old, ROWS);
  }
  mine = 0;
  for (i = 1; i <= ROWS; i++)
    for (j = 0; j < COLS; j++) mine += old[i][j];
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0 && sum != (double)all * ROWS * COLS) {
    printf("sum %f\n", sum);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
