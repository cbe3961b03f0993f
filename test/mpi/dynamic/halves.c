/* Two halves of a job connect through a port, as two jobs would. */
#include "exercise.h"

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size == 1) return finish();
  const int side = rank % 2;
  MPI_Comm half, inter;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half));
  for (int k = 0; k < 2; ++k) {
    char port[MPI_MAX_PORT_NAME] = "";
    const int root = k == 0 ? 0 : (size / 2 > 1 ? 1 : 0); /* of each half */
    int mine;
    OK(MPI_Comm_rank(half, &mine));
    if (side == 0 && mine == root) OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 2 * root, MPI_COMM_WORLD));
    if (side == 0)
      OK(MPI_Comm_accept(mine == root ? port : NULL, MPI_INFO_NULL, root, half, &inter));
    else
      OK(MPI_Comm_connect(mine == root ? port : NULL, MPI_INFO_NULL, root, half, &inter));
    exercise(inter, side);
    if (k == 0)
      OK(MPI_Comm_disconnect(&inter));
    else
      OK(MPI_Comm_free(&inter));
    if (side == 0 && mine == root) OK(MPI_Close_port(port));
  }
  OK(MPI_Comm_free(&half));
  return finish();
}
