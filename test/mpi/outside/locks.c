/* Ranks that wait for locks of files, for queues of messages and for semaphores of System V, each
 * for its partner. */
#define _GNU_SOURCE
#include "outside.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char name[64];

/* The even partner has it, and gives it up when the odd one waits. Two opens of a file are two
 * owners also in one process. */
static void file_locks(void) {
  if (me % 2 == 0) {
    snprintf(name, sizeof name, "/tmp/fgmpi-outside-lock-%d-%d", (int)getpid(), me);
    close(open(name, O_CREAT | O_RDWR, 0600));
  }
  if (me % 2)
    MPI_Recv(name, sizeof name, MPI_CHAR, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(name, sizeof name, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
  const int fd = open(name, O_RDWR);
  CHECK(fd >= 0);
  meet();
  if (me % 2 == 0) unlink(name); /* both have it open: nothing is left where the test is killed */
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET}, none = whole;
  none.l_type = F_UNLCK;
  int done = 0;
  for (int how = 0; how < 2; ++how) {
    if (me % 2 == 0) {
      CHECK((how ? fcntl(fd, F_OFD_SETLKW, &whole) : flock(fd, LOCK_EX)) == 0);
      meet(); /* the partner may try */
      meet(); /* it has tried */
      let_wait();
      usleep(2000);
      done = 1;
      CHECK(pwrite(fd, &done, sizeof done, 0) == sizeof done);
      CHECK((how ? fcntl(fd, F_OFD_SETLK, &none) : flock(fd, LOCK_UN)) == 0);
    } else {
      meet();
      if (how == 0) CHECK(flock(fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
      meet();
      errno = 77;
      CHECK((how ? fcntl(fd, F_OFD_SETLKW, &whole) : flock(fd, LOCK_EX)) == 0 && errno == 77);
      CHECK(pread(fd, &done, sizeof done, 0) == sizeof done && done == 1);
      done = 0;
      CHECK(pwrite(fd, &done, sizeof done, 0) == sizeof done);
      CHECK((how ? fcntl(fd, F_OFD_SETLK, &none) : flock(fd, LOCK_UN)) == 0);
    }
    meet();
  }
  /* Locks of processes do not exclude ranks of one process. */
  CHECK(lockf(fd, F_LOCK, 0) == 0 && lockf(fd, F_ULOCK, 0) == 0);
  whole.l_pid = 0;
  CHECK(fcntl(fd, F_SETLKW, &whole) == 0 && fcntl(fd, F_SETLK, &none) == 0);
  close(fd);
}

static void system_v(void) {
  struct {
    long type;
    char text[8];
  } message = {1, "hello"}, got = {0, ""};
  int ids[2];
  if (me % 2) {
    ids[0] = msgget(IPC_PRIVATE, 0600);
    ids[1] = semget(IPC_PRIVATE, 1, 0600);
    const int made = ids[0] >= 0 && ids[1] >= 0;
    MPI_Send(ids, 2, MPI_INT, partner, 2, MPI_COMM_WORLD);
    if (!made) return; /* the system has no more of them */
    struct sembuf take = {0, -1, 0};
    CHECK(msgrcv(ids[0], &got, sizeof got.text, 0, IPC_NOWAIT) == -1 && errno == ENOMSG);
    meet();
    CHECK(msgrcv(ids[0], &got, sizeof got.text, 0, 0) == sizeof got.text);
    CHECK(got.type == 1 && !strcmp(got.text, "hello"));
    CHECK(semop(ids[1], &take, 1) == 0);
    struct timespec time = {0, 10000000};
    CHECK(semtimedop(ids[1], &take, 1, &time) == -1 && errno == EAGAIN);
    msgctl(ids[0], IPC_RMID, NULL);
    semctl(ids[1], 0, IPC_RMID);
  } else {
    MPI_Recv(ids, 2, MPI_INT, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (ids[0] < 0 || ids[1] < 0) return;
    struct sembuf give = {0, 1, 0};
    meet(); /* the partner has found nothing */
    let_wait();
    CHECK(msgsnd(ids[0], &message, sizeof message.text, 0) == 0);
    let_wait();
    CHECK(semop(ids[1], &give, 1) == 0);
  }
}

static void queues(void) {
  char queue_name[64] = "", text[8] = "";
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof text};
  if (me % 2) {
    snprintf(queue_name, sizeof queue_name, "/fgmpi-outside-%d-%d", (int)getpid(), me);
    const mqd_t queue = mq_open(queue_name, O_CREAT | O_RDWR, 0600, &attributes);
    if (queue < 0) queue_name[0] = 0; /* the system has no more of them */
    MPI_Send(queue_name, sizeof queue_name, MPI_CHAR, partner, 3, MPI_COMM_WORLD);
    if (queue < 0) return;
    meet();
    mq_unlink(queue_name);
    for (int i = 0; i < 3; ++i) {
      CHECK(mq_receive(queue, text, sizeof text, NULL) == sizeof text);
      CHECK(text[0] == 'a' + i);
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    CHECK(mq_timedreceive(queue, text, sizeof text, NULL, &until) == -1 && errno == ETIMEDOUT);
    mq_close(queue);
  } else {
    MPI_Recv(queue_name, sizeof queue_name, MPI_CHAR, partner, 3, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (!queue_name[0]) return;
    const mqd_t queue = mq_open(queue_name, O_RDWR);
    CHECK(queue >= 0);
    meet();
    let_wait();
    for (int i = 0; i < 3; ++i) { /* the second one finds it full, perhaps */
      text[0] = (char)('a' + i);
      CHECK(mq_send(queue, text, sizeof text, 0) == 0);
    }
    mq_close(queue);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (partner >= 0) {
    file_locks();
    system_v();
    queues();
  }
  return end();
}
