/* Hundreds of ranks of a process that wait for a descriptor, a child or a lock at the same time
 * need no threads each. */
#define _GNU_SOURCE
#include "outside.h"

#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static int count_threads(void) {
  int n = 0;
  DIR* folder = opendir("/proc/self/task");
  for (const struct dirent* e; (e = readdir(folder));) n += e->d_name[0] != '.';
  closedir(folder);
  return n;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm here;
  int rank, ranks, ends[2];
  MPI_Comm_split(MPI_COMM_WORLD, (int)getpid(), me, &here);
  MPI_Comm_rank(here, &rank);
  MPI_Comm_size(here, &ranks);
  if (rank == 0) CHECK(pipe2(ends, O_CLOEXEC) == 0);
  MPI_Bcast(ends, 2, MPI_INT, 0, here); /* a descriptor is the process's */
  int before = 0;
  if (rank == 0) before = count_threads();
  for (int round = 0; round < 2; ++round) {
    MPI_Barrier(here);
    char c = 0;
    if (rank == 0) {
      let_wait();
      usleep(20000);
      const int now = count_threads();
      CHECK(now <= before + 8);
      for (int i = 1; i < ranks; ++i) CHECK(write(ends[1], "z", 1) == 1);
    } else {
      CHECK(read(ends[0], &c, 1) == 1 && c == 'z');
    }
  }
  MPI_Barrier(here);
  /* A semaphore that processes share. */
  sem_t* semaphore = NULL;
  if (rank == 0) {
    semaphore =
        mmap(NULL, sizeof *semaphore, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(sem_init(semaphore, 1, 0) == 0);
  }
  MPI_Bcast(&semaphore, sizeof semaphore, MPI_BYTE, 0, here);
  if (rank == 0) {
    let_wait();
    usleep(20000);
    CHECK(count_threads() <= before + 8);
    for (int i = 1; i < ranks; ++i) CHECK(sem_post(semaphore) == 0);
  } else {
    CHECK(sem_wait(semaphore) == 0);
  }
  MPI_Barrier(here);
  /* A descriptor that was a file's, closed by the C library, is a pipe's now. */
  if (rank == 1) {
    char text[8];
    FILE* file = tmpfile();
    CHECK(file && fputs("one\n", file) >= 0);
    rewind(file);
    CHECK(fgets(text, sizeof text, file));
    fclose(file);
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    MPI_Send(ends, 2, MPI_INT, 0, 0, here);
    CHECK(read(ends[0], text, 1) == 1);
  } else if (rank == 0 && ranks > 1) {
    MPI_Recv(ends, 2, MPI_INT, 1, 0, here, MPI_STATUS_IGNORE);
    let_wait();
    CHECK(write(ends[1], "z", 1) == 1);
  }
  MPI_Barrier(here);
  char name[64];
  snprintf(name, sizeof name, "/tmp/fgmpi-outside-many-%d", (int)getpid());
  int fd = open(name, O_CREAT | O_RDWR, 0600);
  CHECK(fd >= 0);
  if (rank == 0) CHECK(flock(fd, LOCK_EX) == 0);
  MPI_Barrier(here);
  if (rank == 0) unlink(name); /* nothing is left where the test is killed */
  if (rank == 0) {
    usleep(20000);
    CHECK(count_threads() <= before + 8);
  } else {
    CHECK(flock(fd, LOCK_EX) == 0);
  }
  close(fd);
  MPI_Barrier(here);
  MPI_Comm_free(&here);
  return end();
}
