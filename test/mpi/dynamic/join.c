/* MPI_Comm_join over a socket: the descriptor is the program's again afterwards. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "exercise.h"

/* A connected socket between ranks 0 and 1, whether they share a process or not. */
static int connected(int rank) {
  struct sockaddr_un at;
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  int number = (int)getpid();
  OK(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
  snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "fgmpi-test-join-%d", number);
  int listener = -1, fd = -1;
  if (rank < 2) fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (rank == 0) {
    listener = fd;
    CHECK(bind(listener, (struct sockaddr*)&at, sizeof at) == 0 && listen(listener, 1) == 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) CHECK(connect(fd, (struct sockaddr*)&at, sizeof at) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0 && close(listener) == 0);
  }
  return fd;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (size < 2) return finish();
  const int fd = connected(rank);
  if (rank < 2) {
    MPI_Comm inter;
    OK(MPI_Comm_join(fd, &inter));
    char word[6] = "hello", got[6] = "";
    CHECK(write(fd, word, 6) == 6);
    int remote;
    OK(MPI_Comm_remote_size(inter, &remote));
    CHECK(remote == 1);
    exercise(inter, rank);
    CHECK(read(fd, got, 6) == 6 && strcmp(got, word) == 0);
    OK(MPI_Comm_disconnect(&inter));
    CHECK(close(fd) == 0);
  }
  return finish();
}
