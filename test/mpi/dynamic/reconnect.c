/* Two jobs that were spawned connect and disconnect a hundred times, at once after each other: the
 * next connection comes while processes still have the last one. The children are the same program:
 * argv[1] says which job, argv[2] its ranks a process. */
#include "spawning.h"

#define RANKS 6
#define TIMES 100

static void child(MPI_Comm parent, int accepts) {
  int rank;
  char port[MPI_MAX_PORT_NAME];
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (rank == 0 && accepts) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, parent));
  } else if (rank == 0) {
    OK(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, parent, MPI_STATUS_IGNORE));
  }
  for (int k = 0; k < TIMES; ++k) {
    MPI_Comm others;
    int from_other = -1, mine = k * RANKS + rank;
    if (accepts)
      OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others));
    else
      OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others));
    const int other = k % 2 ? rank : RANKS - 1 - rank;
    if (k % 3 < 2) {
      OK(MPI_Sendrecv(&mine, 1, MPI_INT, other, k, &from_other, 1, MPI_INT, MPI_ANY_SOURCE, k,
                      others, MPI_STATUS_IGNORE));
      CHECK(from_other / RANKS == k);
    }
    OK(MPI_Comm_disconnect(&others));
  }
  if (rank == 0 && accepts) OK(MPI_Close_port(port));
}

int main(int argc, char** argv) {
  MPI_Comm parent, jobs[2];
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    child(parent, atoi(argv[1]));
    OK(MPI_Comm_disconnect(&parent));
    return finish();
  }
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int accepts = 0; accepts < 2; ++accepts) {
    char text[2] = {(char)('0' + accepts), 0};
    char* arguments[] = {text, NULL};
    MPI_Info infos[2];
    OK(MPI_Info_create(&infos[0]));
    OK(MPI_Info_set(infos[0], "nfg", size % 2 ? "2" : "3"));
    spawn_commands(MPI_COMM_WORLD, 0, argv[0], arguments, RANKS, 0, infos, &jobs[accepts]);
    OK(MPI_Info_free(&infos[0]));
  }
  if (rank == 0) {
    char port[MPI_MAX_PORT_NAME];
    OK(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, jobs[1], MPI_STATUS_IGNORE));
    OK(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, jobs[0]));
  }
  OK(MPI_Comm_disconnect(&jobs[0]));
  OK(MPI_Comm_disconnect(&jobs[1]));
  return finish();
}
