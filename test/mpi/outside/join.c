/* MPI_Comm_join over sockets that ranks of a process, and of several, have connected by accept()
 * and connect(). */
#include "outside.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (partner >= 0) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int fd;
    if (me % 2) {
      const int listener = socket(AF_INET, SOCK_STREAM, 0);
      CHECK(bind(listener, (struct sockaddr*)&at, sizeof at) == 0 && listen(listener, 1) == 0);
      CHECK(getsockname(listener, (struct sockaddr*)&at, &length) == 0);
      MPI_Send(&at, sizeof at, MPI_BYTE, partner, 2, MPI_COMM_WORLD);
      fd = accept(listener, NULL, NULL);
      close(listener);
    } else {
      MPI_Recv(&at, sizeof at, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      fd = socket(AF_INET, SOCK_STREAM, 0);
      CHECK(connect(fd, (struct sockaddr*)&at, sizeof at) == 0);
    }
    CHECK(fd >= 0);
    MPI_Comm joined;
    int remote = 0, theirs = -1;
    MPI_Comm_join(fd, &joined);
    MPI_Comm_remote_size(joined, &remote);
    CHECK(remote == 1);
    MPI_Sendrecv(&me, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, joined, MPI_STATUS_IGNORE);
    CHECK(theirs == partner);
    MPI_Comm_disconnect(&joined);
    close(fd);
  }
  return end();
}
