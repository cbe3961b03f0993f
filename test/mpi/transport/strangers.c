/* Connections from outside of the job: while ranks exchange messages over the network, a thread
 * without the job's key connects to every port that the processes listen on, sends garbage,
 * openings with wrong keys, half a frame and then nothing, and opens a thousand connections at
 * once. The job goes on, its messages are intact, and no descriptor stays open because of it.
 * FGMPI_TRANSPORT=ofi. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "usage.h"

enum { kMostPorts = 16, kCrowd = 1000, kMostSilent = 128 };

static int rank, size;
static char inherited[4096]; /* the launcher's own ports are not tested here */

/* The sockets of this process that listen; returns how many. */
static int listening(struct sockaddr_in* addresses) {
  int count = 0;
  for (int fd = 3; fd < 4096 && count < kMostPorts; ++fd) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (inherited[fd] || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) || !listens)
      continue;
    length = sizeof addresses[count];
    if (getsockname(fd, (struct sockaddr*)&addresses[count], &length)) continue;
    if (addresses[count].sin_family != AF_INET) continue;
    if (addresses[count].sin_addr.s_addr == INADDR_ANY)
      addresses[count].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ++count;
  }
  return count;
}

static int visit(const struct sockaddr_in* address) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr*)address, sizeof *address)) {
    close(fd);
    return -1;
  }
  return fd;
}

static void say(int fd, const void* bytes, size_t length) {
  if (fd >= 0 && send(fd, bytes, length, MSG_NOSIGNAL) < 0)
    CHECK(errno == EPIPE || errno == ECONNRESET);
}

/* Every rank sends to every other, and checks what it gets. */
static void traffic(int rounds) {
  static int out[20000], in[20000];
  for (int round = 0; round < rounds; ++round)
    for (int shift = 1; shift < size; ++shift) {
      int to = (rank + shift) % size, from = (rank + size - shift) % size;
      int n = 1 + (round * 7919 + shift * 104729) % 20000;
      for (int i = 0; i < n; ++i) out[i] = rank * 1000003 + round * 31 + i;
      MPI_Status status;
      OK(MPI_Sendrecv(out, n, MPI_INT, to, round, in, 20000, MPI_INT, from, round, MPI_COMM_WORLD,
                      &status));
      for (int i = 0; i < n; ++i) CHECK(in[i] == from * 1000003 + round * 31 + i);
    }
}

/* Data without the job's key; each of them is sent to each port. */
static void misbehave(const struct sockaddr_in* door, int* silent) {
  unsigned char garbage[4096];
  unsigned seed = 12345u + door->sin_port;
  for (size_t i = 0; i < sizeof garbage; ++i)
    garbage[i] = (unsigned char)((seed = seed * 1664525 + 1013904223) >> 24);
  for (size_t length = 1; length <= sizeof garbage; length *= 4) {
    int fd = visit(door);
    say(fd, garbage, length);
    close(fd);
  }
  { /* zeros, then the end */
    static const unsigned char zeros[512];
    int fd = visit(door);
    say(fd, zeros, sizeof zeros);
    close(fd);
  }
  { /* the opening of a lifeline, with the key of another job: 16 bytes of key, process, zero */
    unsigned char opening[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1};
    int fd = visit(door);
    say(fd, opening, sizeof opening);
    close(fd);
  }
  { /* a message of frames (magic, process, token, length, header) without having opened a relation */
    unsigned char frame[16 + 4 + 48] = {0x12, 0, 0x47, 0x46, 1, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9};
    int fd = visit(door);
    say(fd, frame, sizeof frame);
    close(fd);
  }
  /* half an opening, then silence for as long as the job lasts */
  *silent = visit(door);
  say(*silent, garbage, 7);
}

static void crowd(const struct sockaddr_in* door) {
  static int fds[kCrowd];
  for (int i = 0; i < kCrowd; ++i) {
    fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fds[i] >= 0) connect(fds[i], (const struct sockaddr*)door, sizeof *door);
  }
  for (int i = 0; i < kCrowd; ++i)
    if (fds[i] >= 0) close(fds[i]);
}

/* Of one process: lifelines are opened after the provider's endpoint. */
static const struct sockaddr_in* provider_port(const struct sockaddr_in* doors) {
  int i = 0;
  while (i + 1 < kMostPorts && doors[i + 1].sin_family) ++i;
  return &doors[i];
}

int main(int argc, char** argv) {
  struct sockaddr_in doors[kMostPorts], *all = NULL;
  int silent[kMostSilent], silent_count = 0;
  memset(doors, 0, sizeof doors);
  for (int fd = 0; fd < 4096; ++fd) inherited[fd] = fcntl(fd, F_GETFD) >= 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  traffic(2);
  int count = listening(doors);
  if (rank == 0) all = calloc(size, sizeof doors);
  OK(MPI_Gather(doors, sizeof doors, MPI_BYTE, all, sizeof doors, MPI_BYTE, 0, MPI_COMM_WORLD));
  usleep(1500000); /* lifelines are looked at once a second */
  int before = open_descriptors();
  CHECK(count >= 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < kMostPorts && all[r * kMostPorts + i].sin_family; ++i)
        if (silent_count < kMostSilent)
          misbehave(&all[r * kMostPorts + i], &silent[silent_count++]);
    CHECK(silent_count >= size);
    crowd(provider_port(&all[kMostPorts]));
  }
  traffic(20);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  usleep(2500000);
  int after = open_descriptors();
  /* Some connections for each port; rank 0 has the ends of those that it has made, too. */
  int allowed = (rank == 0 ? silent_count : 0) + 32;
  if (after > before + allowed)
    printf("rank %d: %d descriptors before, %d after\n", rank, before, after);
  CHECK(after <= before + allowed);
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* all ranks have counted */
  /* The provider's own port: libfabric 1.17 never closes what it has accepted, so only the job's
   * result is checked. */
  if (rank == 0) crowd(&all[kMostPorts]);
  traffic(20);
  if (rank == 0)
    for (int i = 0; i < silent_count; ++i)
      if (silent[i] >= 0) close(silent[i]);
  free(all);
  return finish();
}
