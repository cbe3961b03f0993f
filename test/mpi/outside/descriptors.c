/* Ranks that wait for descriptors: each is ended by its partner, which may be a rank of the same
 * process. */
#define _GNU_SOURCE
#include "outside.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { kLarge = 300000 }; /* more than a pipe or a socket's buffers take */
static char name[64], reply_name[64];
static int reader, writer; /* of named pipes, opened by both partners */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void open_pipes(void) {
  snprintf(name, sizeof name, "/tmp/fgmpi-outside-%d-%d", (int)getpid(), me);
  MPI_Sendrecv(name, sizeof name, MPI_CHAR, partner, 1, reply_name, sizeof reply_name, MPI_CHAR,
               partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(mkfifo(name, 0600) == 0);
  meet();
  /* Opening one waits for the other end. */
  if (me % 2) {
    reader = open(name, O_RDONLY);
    writer = open(reply_name, O_WRONLY);
  } else {
    let_wait();
    writer = open(reply_name, O_WRONLY);
    reader = open(name, O_RDONLY);
  }
  CHECK(reader >= 0 && writer >= 0);
  meet();
  unlink(name);
}

static void read_and_write(void) {
  char text[16] = {0};
  if (me % 2) {
    errno = 77;
    CHECK(read(reader, text, 5) == 5 && !strcmp(text, "hello"));
    CHECK(errno == 77);
    struct iovec parts[2] = {{text, 2}, {text + 2, 3}};
    CHECK(readv(reader, parts, 2) == 5 && !strcmp(text, "again"));
  } else {
    let_wait();
    CHECK(write(writer, "hello", 5) == 5);
    let_wait();
    CHECK(write(writer, "again", 5) == 5);
  }
  meet();
}

static void full_pipe(void) {
  char* bytes = malloc(kLarge);
  if (me % 2) {
    int got = 0;
    let_wait();
    while (got < kLarge) {
      const ssize_t n = read(reader, bytes + got, kLarge - got);
      CHECK(n > 0);
      if (n <= 0) break;
      got += (int)n;
    }
    for (int i = 0; i < kLarge; i += 997) CHECK(bytes[i] == (char)(i % 251));
  } else {
    for (int i = 0; i < kLarge; ++i) bytes[i] = (char)(i % 251);
    struct iovec parts[3] = {{bytes, 100000}, {bytes + 100000, 0}, {bytes + 100000, 100000}};
    CHECK(writev(writer, parts, 3) == 200000);
    CHECK(write(writer, bytes + 200000, 100000) == 100000);
  }
  free(bytes);
  meet();
}

static void several(void) {
  char c = 0;
  int other[2];
  CHECK(pipe(other) == 0);
  struct pollfd fds[2] = {{other[0], POLLIN, 0}, {reader, POLLIN, 0}};
  const int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 42}, got = {0};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, reader, &event) == 0);
  if (me % 2) {
    CHECK(poll(fds, 2, -1) == 1 && fds[1].revents == POLLIN && fds[0].revents == 0);
    CHECK(read(reader, &c, 1) == 1 && c == 'p');
    fd_set set;
    FD_ZERO(&set);
    FD_SET(reader, &set);
    FD_SET(other[0], &set);
    const int top = (reader > other[0] ? reader : other[0]) + 1;
    CHECK(select(top, &set, NULL, NULL, NULL) == 1 && FD_ISSET(reader, &set) &&
          !FD_ISSET(other[0], &set));
    CHECK(read(reader, &c, 1) == 1 && c == 's');
    CHECK(epoll_wait(epoll, &got, 1, -1) == 1 && got.data.u64 == 42);
    CHECK(read(reader, &c, 1) == 1 && c == 'e');
    sigset_t none;
    sigemptyset(&none);
    CHECK(ppoll(fds, 2, NULL, &none) == 1);
    CHECK(read(reader, &c, 1) == 1 && c == 'm');
    /* Times. */
    const double start = now();
    CHECK(poll(fds, 2, 30) == 0);
    struct timeval time = {0, 30000};
    FD_ZERO(&set);
    FD_SET(reader, &set);
    CHECK(select(reader + 1, &set, NULL, NULL, &time) == 0 && !FD_ISSET(reader, &set));
    CHECK(time.tv_sec == 0 && time.tv_usec == 0);
    CHECK(epoll_wait(epoll, &got, 1, 30) == 0);
    CHECK(now() - start >= 0.088);
    CHECK(poll(fds, 2, 0) == 0);
  } else {
    for (const char* text = "psem"; *text; ++text) {
      let_wait();
      CHECK(write(writer, text, 1) == 1);
      usleep(1000);
    }
  }
  close(epoll);
  close(other[0]);
  close(other[1]);
  meet();
}

static void flags_and_errors(void) {
  int ends[2];
  char c;
  CHECK(pipe(ends) == 0);
  CHECK(read(ends[1], &c, 1) == -1 && errno == EBADF);
  CHECK(write(ends[0], "x", 1) == -1 && errno == EBADF);
  CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  CHECK(read(ends[0], &c, 1) == -1 && errno == EAGAIN);
  CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  char* bytes = calloc(1, kLarge);
  const ssize_t n = write(ends[1], bytes, kLarge);
  CHECK(n > 0 && n < kLarge);
  CHECK(write(ends[1], bytes, 1) == -1 && errno == EAGAIN);
  free(bytes);
  /* The end of the writer is the end of the file; that of the reader a signal. */
  CHECK(fcntl(ends[0], F_SETFL, 0) == 0);
  close(ends[1]);
  for (char buffer[4096]; read(ends[0], buffer, sizeof buffer) > 0;) continue;
  CHECK(read(ends[0], &c, 1) == 0);
  close(ends[0]);
  CHECK(read(ends[0], &c, 1) == -1 && errno == EBADF);
  const int event = eventfd(3, 0);
  uint64_t value = 0;
  CHECK(read(event, &value, sizeof value) == sizeof value && value == 3);
  close(event);
  const int epoll = epoll_create1(0);
  CHECK(read(epoll, &c, 1) == -1 && errno == EINVAL);
  close(epoll);
}

static void sockets(void) {
  int pair[2];
  char text[16] = {0};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  /* Time limits, and calls that do not wait. */
  struct timeval limit = {0, 20000};
  CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  const double start = now();
  CHECK(recv(pair[0], text, 5, 0) == -1 && errno == EAGAIN);
  CHECK(read(pair[0], text, 5) == -1 && errno == EAGAIN);
  CHECK(now() - start >= 0.038);
  CHECK(recv(pair[0], text, 5, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  CHECK(send(pair[1], "abc", 3, 0) == 3);
  CHECK(recv(pair[0], text, 5, MSG_WAITALL) == 3);
  CHECK(recv(pair[0], text, 0, 0) == 0 || errno == EAGAIN);
  CHECK(accept(pair[0], NULL, NULL) == -1 && errno == EINVAL);
  close(pair[0]);
  CHECK(send(pair[1], "abc", 3, MSG_NOSIGNAL) == -1 && errno == EPIPE);
  close(pair[1]);

  /* One partner listens, the other one connects. */
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
  socklen_t length = sizeof at;
  CHECK(bind(listener, (struct sockaddr*)&at, sizeof at) == 0 && listen(listener, 5) == 0);
  CHECK(getsockname(listener, (struct sockaddr*)&at, &length) == 0);
  if (me % 2 && partner >= 0) {
    MPI_Send(&at, sizeof at, MPI_BYTE, partner, 2, MPI_COMM_WORLD);
    length = sizeof from;
    const int fd = accept(listener, (struct sockaddr*)&from, &length);
    CHECK(fd >= 0 && length == sizeof from && from.sin_family == AF_INET);
    char* bytes = malloc(kLarge * 20);
    CHECK(recv(fd, bytes, kLarge * 20, MSG_WAITALL) == kLarge * 20);
    CHECK(bytes[kLarge * 20 - 1] == 'x');
    CHECK(recv(fd, text, 5, MSG_WAITALL | MSG_PEEK) == 5 && !memcmp(text, "after", 5));
    CHECK(recv(fd, text, 5, 0) == 5 && !memcmp(text, "after", 5));
    CHECK(send(fd, "reply", 5, 0) == 5);
    free(bytes);
    close(fd);
  } else if (partner >= 0) {
    struct sockaddr_in other;
    MPI_Recv(&other, sizeof other, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    let_wait();
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr*)&other, sizeof other) == 0);
    CHECK(connect(fd, (struct sockaddr*)&other, sizeof other) == -1 && errno == EISCONN);
    CHECK(fcntl(fd, F_GETFL) == O_RDWR);
    char* bytes = malloc(kLarge * 20);
    memset(bytes, 'x', kLarge * 20);
    CHECK(send(fd, bytes, kLarge * 10, 0) == kLarge * 10);
    struct iovec parts[2] = {{bytes, kLarge * 5}, {bytes, kLarge * 5}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    CHECK(sendmsg(fd, &message, 0) == kLarge * 10);
    CHECK(write(fd, "af", 2) == 2);
    let_wait();
    usleep(1000);
    CHECK(write(fd, "ter", 3) == 3);
    CHECK(read(fd, text, sizeof text) == 5 && !memcmp(text, "reply", 5));
    CHECK(read(fd, text, sizeof text) == 0);
    free(bytes);
    close(fd);
  }
  close(listener);
  const int refused = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(refused, (struct sockaddr*)&at, sizeof at) == -1 && errno == ECONNREFUSED);
  close(refused);
  meet();
}

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  begin(&argc, &argv);
  if (partner >= 0) {
    open_pipes();
    read_and_write();
    full_pipe();
    several();
    close(reader);
    close(writer);
  }
  flags_and_errors();
  sockets();
  return end();
}
