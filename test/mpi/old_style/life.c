/* A game of life whose state is in global variables without initialisers, received by
 * MPI_ANY_SOURCE in turn. */
#include <stdio.h>
#include <string.h>
#include "mpi.h"

#define W 64
#define H 16
char board[H + 2][W], next[H + 2][W];
int me, all, generation;

exchange() {
  MPI_Request wait[4];
  MPI_Status done[4];
  int up = (me + all - 1) % all, down = (me + 1) % all;
  MPI_Irecv(board[0], W, MPI_CHAR, up, 1, MPI_COMM_WORLD, &wait[0]);
  MPI_Irecv(board[H + 1], W, MPI_CHAR, down, 2, MPI_COMM_WORLD, &wait[1]);
  MPI_Isend(board[H], W, MPI_CHAR, down, 1, MPI_COMM_WORLD, &wait[2]);
  MPI_Isend(board[1], W, MPI_CHAR, up, 2, MPI_COMM_WORLD, &wait[3]);
  MPI_Waitall(4, wait, done);
}

neighbours(i, j) {
  int y, x, n = 0;
  for (y = -1; y <= 1; y++)
    for (x = -1; x <= 1; x++)
      if (y || x) n += board[i + y][(j + x + W) % W];
  return n;
}

main(argc, argv) int argc;
char** argv;
{
  int i, j, n, alive, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  if (me == 0) { /* a glider, which comes round */
    board[1][1] = board[2][2] = board[3][0] = board[3][1] = board[3][2] = 1;
  }
  for (generation = 0; generation < 4 * H; generation++) {
    exchange();
    for (i = 1; i <= H; i++)
      for (j = 0; j < W; j++) {
        n = neighbours(i, j);
        next[i][j] = n == 3 || (n == 2 && board[i][j]);
      }
    memcpy(board, next, sizeof board);
  }
  for (alive = 0, i = 1; i <= H; i++)
    for (j = 0; j < W; j++) alive += board[i][j];
  MPI_Allreduce(&alive, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != 5 || alive != (me == (1 % all) ? 5 : 0)) {
    printf("rank %d: %d of %d cells\n", me, alive, sum);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
