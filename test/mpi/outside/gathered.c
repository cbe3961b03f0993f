/* Messages that come in pieces (MSG_WAITALL), or several by one call, into thread_local memory: it is at its address only while
   its rank runs. */
#define _GNU_SOURCE
#include "outside.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static _Thread_local char text[32];
static _Thread_local struct iovec parts[3];
static _Thread_local struct mmsghdr messages[3];

/* The partners are connected, by a name that no file has. */
static int connected(int type) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  const socklen_t length = sizeof at;
  int fd;
  if (me % 2) {
    const int listener = socket(AF_UNIX, type, 0);
    snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "fgmpi-outside-%d-%d", (int)getpid(), me);
    CHECK(bind(listener, (struct sockaddr*)&at, length) == 0 && listen(listener, 1) == 0);
    MPI_Send(&at, sizeof at, MPI_BYTE, partner, 2, MPI_COMM_WORLD);
    fd = accept(listener, NULL, NULL);
    close(listener);
  } else {
    MPI_Recv(&at, sizeof at, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fd = socket(AF_UNIX, type, 0);
    CHECK(connect(fd, (struct sockaddr*)&at, length) == 0);
  }
  CHECK(fd >= 0);
  return fd;
}

/* Each piece is sent when the partner waits, perhaps; this rank's own thread_local memory stays as it is. */
static void give(int fd, const char* piece) {
  memset(text, '-', sizeof text);
  let_wait();
  usleep(1000);
  CHECK(send(fd, piece, strlen(piece), 0) == (ssize_t)strlen(piece));
  let_wait();
  for (size_t i = 0; i < sizeof text; ++i) CHECK(text[i] == '-');
}

static void give_descriptor(int fd, int given) {
  char piece[] = "fd";
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &given, sizeof given);
  struct iovec part = {piece, 2};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  CHECK(sendmsg(fd, &message, 0) == 2);
}

static void stream(void) {
  const int fd = connected(SOCK_STREAM);
  if (me % 2) {
    memset(text, 0, sizeof text);
    errno = 77;
    CHECK(recv(fd, text, 6, MSG_WAITALL) == 6 && !strcmp(text, "abcdef"));
    CHECK(errno == 77);
    meet();
    memset(text, 0, sizeof text);
    parts[0] = (struct iovec){text, 2};
    parts[1] = (struct iovec){text, 0};
    parts[2] = (struct iovec){text + 2, 7};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    CHECK(recvmsg(fd, &message, MSG_WAITALL) == 9 && !strcmp(text, "first,sec"));
    CHECK(message.msg_iov == parts && message.msg_iovlen == 3);
    CHECK(parts[0].iov_base == text && parts[0].iov_len == 2 && parts[2].iov_len == 7);
    CHECK(read(fd, text, 3) == 3 && !memcmp(text, "ond", 3));
    meet();
    /* A descriptor comes with the second piece, which ends the message. */
    union {
      struct cmsghdr header;
      char room[CMSG_SPACE(sizeof(int))];
    } control;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    CHECK(recvmsg(fd, &message, MSG_WAITALL) == 4 && !memcmp(text, "a;fd", 4));
    CHECK(message.msg_controllen > 0 && control.header.cmsg_type == SCM_RIGHTS);
    int got = -1;
    memcpy(&got, CMSG_DATA(&control.header), sizeof got);
    CHECK(close(got) == 0);
    CHECK(recv(fd, text, 20, MSG_WAITALL) == 4 &&
          !memcmp(text, "rest", 4)); /* the end of the stream */
  } else {
    give(fd, "abc");
    give(fd, "de");
    give(fd, "f");
    meet();
    give(fd, "f");
    give(fd, "irst,");
    give(fd, "second");
    meet();
    give(fd, "a;");
    give_descriptor(fd, fd);
    give(fd, "rest");
  }
  close(fd);
}

static void packets(void) {
  const int fd = connected(SOCK_SEQPACKET);
  if (me % 2) {
    memset(text, 0, sizeof text);
    for (int i = 0; i < 3; ++i) {
      parts[i] = (struct iovec){text + 10 * i, 10};
      messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    CHECK(recvmmsg(fd, messages, 3, 0, NULL) == 3);
    CHECK(!strcmp(text, "one") && !strcmp(text + 10, "two") && !strcmp(text + 20, "three"));
    CHECK(messages[0].msg_len == 3 && messages[2].msg_len == 5);
    meet();
    CHECK(recvmmsg(fd, messages, 3, MSG_WAITFORONE, NULL) == 1 && !strncmp(text, "fou", 3));
    meet();
    struct timespec limit = {0, 1};
    CHECK(recvmmsg(fd, messages, 3, 0, &limit) == 1 && !strncmp(text, "five", 4));
    CHECK(limit.tv_sec == 0 && limit.tv_nsec == 0);
    CHECK(recv(fd, text, sizeof text, MSG_WAITALL) == 3 && !memcmp(text, "six", 3));
  } else {
    give(fd, "one");
    give(fd, "two");
    give(fd, "three");
    meet();
    give(fd, "four");
    meet();
    give(fd, "five");
    give(fd, "six");
  }
  meet();
  close(fd);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (partner >= 0) {
    stream();
    packets();
  }
  return end();
}
