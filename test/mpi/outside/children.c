/* Ranks that wait for children of theirs, which end only when another rank has done something. */
#define _GNU_SOURCE
#include "outside.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

/* A child that ends with `status` when somebody writes to the pipe, or closes it. */
static pid_t start(int ends[2], int status) {
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char c;
    close(ends[1]);
    (void)!read(ends[0], &c, 1); /* a plain process: it waits as without ranks */
    _exit(status);
  }
  CHECK(child > 0);
  return child;
}

/* The child of each odd rank ends when the even one has been told of it. */
static void one_each(int how) {
  int ends[2], status = -1;
  const int code = me % 50 + 1;
  if (me % 2) {
    const pid_t child = start(ends, code);
    /* What the partner has to do for it to end: only a rank of the same host can, so it is told by
     * a message, and answers. */
    int answer = 0;
    MPI_Request request;
    MPI_Irecv(&answer, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, &request);
    MPI_Send(&code, 1, MPI_INT, partner, 2, MPI_COMM_WORLD);
    const pid_t other = fork(); /* ends by itself, after some time */
    if (other == 0) {
      usleep(20000);
      _exit(code + 1);
    }
    siginfo_t info = {0};
    struct rusage usage;
    CHECK(waitpid(child, &status, WNOHANG) == 0);
    if (how == 0) CHECK(waitpid(other, &status, 0) == other);
    if (how == 1) CHECK(wait(&status) == other);
    if (how == 2) CHECK(wait4(-1, &status, 0, &usage) == other);
    if (how == 3) {
      CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == other);
      CHECK(waitid(P_PID, other, &info, WEXITED) == 0 && info.si_pid == other);
      CHECK(info.si_code == CLD_EXITED && info.si_status == code + 1);
    } else {
      CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code + 1);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(answer == code + 7);
    close(ends[1]);
    CHECK(wait3(&status, 0, NULL) == child && WEXITSTATUS(status) == code);
    CHECK(wait(&status) == -1 && errno == ECHILD); /* others of the process may have some */
    CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    CHECK(waitpid(child, &status, 0) == -1 && errno == ECHILD);
  } else if (partner >= 0) {
    int told;
    MPI_Recv(&told, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    told += 7;
    MPI_Send(&told, 1, MPI_INT, partner, 3, MPI_COMM_WORLD);
  }
  meet();
}

static void shells(void) {
  char command[200], line[100] = "";
  if (me % 2) {
    /* The shell waits for the file, which the partner makes when it has exchanged messages. */
    snprintf(command, sizeof command, "/tmp/fgmpi-outside-shell-%d-%d", (int)getpid(), me);
    MPI_Send(command, 100, MPI_CHAR, partner, 4, MPI_COMM_WORLD);
    char wait_for[600];
    snprintf(wait_for, sizeof wait_for, "while ! [ -e %s ]; do sleep 0.01; done; rm %s; exit 3",
             command, command);
    int status = system(wait_for);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK(system(NULL) != 0);
    status = system("exit 127");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    status = system("kill -9 $$");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  } else if (partner >= 0) {
    char path[100];
    MPI_Recv(path, 100, MPI_CHAR, partner, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    let_wait();
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
  }
  meet();
  snprintf(command, sizeof command,
           "sleep 0.05; echo one %d; sleep 0.01; printf 'two '; sleep 0.01; echo lines; exit 5",
           me);
  FILE* stream = popen(command, "r");
  CHECK(stream);
  meet(); /* it has not been read */
  int number = -1;
  CHECK(fscanf(stream, "one %d\n", &number) == 1 && number == me);
  CHECK(fgets(line, sizeof line, stream) && !strcmp(line, "two lines\n"));
  CHECK(!fgets(line, sizeof line, stream) && feof(stream));
  const int status = pclose(stream);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  stream = popen("read line; sleep 0.02; [ \"$line\" = hello ]", "w");
  CHECK(stream && fputs("hello\n", stream) >= 0);
  CHECK(pclose(stream) == 0);
  CHECK(!popen("true", "rw") && errno == EINVAL);
  meet();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int how = 0; how < 4; ++how) one_each(how);
  shells();
  pid_t child;
  char* words[] = {"sh", "-c", "exit 4", NULL};
  int status = 0;
  CHECK(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
  CHECK(wait(&status) == child && WEXITSTATUS(status) == 4);
  return end();
}
