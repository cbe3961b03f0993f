// Files in /dev/shm: ranks share memory by its name, and a semaphore; a name is removed and used again. NAME-given is a file that
// others have made. Prints what is read there.
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;

static void fail(const char* what) {
  perror(what);
  exit(3);
}
static char* name_of(const char* start, const char* end) {
  static char name[200];
  snprintf(name, sizeof name, "/%s-%s", start, end);
  return name;
}

// All ranks open the name; one of them makes it. Each writes its cell, and reads the next one's.
static void share_cells(const char* start, int round) {
  const char* name = name_of(start, "cells");
  int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  const int makes = fd >= 0;
  if (makes && ftruncate(fd, size * (off_t)sizeof(int)) != 0) fail("ftruncate");
  if (!makes && errno != EEXIST) fail(name);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!makes) fd = shm_open(name, O_RDWR, 0600);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) != 0) fail(name);
  int* cells = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (cells == MAP_FAILED) fail("mmap");
  printf("%d: round %d, %s, %d bytes, %d before, closed on exec: %d\n", rank, round,
         makes ? "made" : "opened", (int)s.st_size, cells[rank], fcntl(fd, F_GETFD));
  MPI_Barrier(MPI_COMM_WORLD);
  cells[rank] = 100 * round + rank;
  MPI_Barrier(MPI_COMM_WORLD);
  int read_back = -1;
  if (pread(fd, &read_back, sizeof read_back, rank * (off_t)sizeof(int)) < 0) fail("pread");
  printf("%d: next %d, own %d\n", rank, cells[(rank + 1) % size], read_back);
  close(fd);
  if (makes && shm_unlink(name) != 0) fail("shm_unlink");
  munmap(cells, (size_t)s.st_size);
}

// The C library links a semaphore that it has made to its name.
static void share_semaphore(const char* start) {
  sem_t* semaphore = sem_open(name_of(start, "semaphore"), O_CREAT, 0600, 0);
  if (semaphore == SEM_FAILED) fail("sem_open");
  int value = -1;
  sem_post(semaphore);
  MPI_Barrier(MPI_COMM_WORLD);
  sem_getvalue(semaphore, &value);
  printf("%d: semaphore %d\n", rank, value);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && sem_unlink(name_of(start, "semaphore")) != 0) fail("sem_unlink");
  sem_close(semaphore);
}

// Reads what others have written, and adds a line.
static void read_given(const char* start) {
  char text[100] = "";
  const int fd = shm_open(name_of(start, "given"), O_RDWR, 0600);
  if (fd < 0) fail("given");
  if (read(fd, text, sizeof text - 1) < 0 || write(fd, "added\n", 6) != 6) fail("read");
  printf("%d: given: %s", rank, text);
  close(fd);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 3; ++round) {
    share_cells(argv[1], round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  share_semaphore(argv[1]);
  read_given(argv[1]);
  MPI_Finalize();
  return 0;
}
