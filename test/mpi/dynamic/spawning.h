/* What the tests of spawns share, whether the children are processes or proclets. */
#ifndef FGMPI_TEST_DYNAMIC_SPAWNING_H
#define FGMPI_TEST_DYNAMIC_SPAWNING_H

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error_class.h"

/* A file that may be executed, but cannot be. */
static inline void no_program(char* path, int rank) {
  if (rank == 0) {
    strcpy(path, "/tmp/fgmpi-test-spawn-XXXXXX");
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "\177ELF nonsense", 13) == 13 && fchmod(fd, 0700) == 0 &&
          close(fd) == 0);
  }
  OK(MPI_Bcast(path, 100, MPI_CHAR, 0, MPI_COMM_WORLD));
}

/* MPI_APPNUM, -1 without one. */
static inline int appnum(void) {
  int *value, flag;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
  return flag ? *value : -1;
}

/* Spawns maxprocs ranks of a program with infos[0], or twice as many by two commands with infos[0]
 * and infos[1]; arguments of other ranks than the root count for nothing. All must come to be. */
static inline void spawn_commands(MPI_Comm comm, int root, const char* program, char** arguments,
                                  int maxprocs, int twice, MPI_Info infos[2], MPI_Comm* children) {
  int rank;
  const int all = twice ? 2 * maxprocs : maxprocs;
  int* codes = malloc(sizeof(int) * (size_t)all);
  OK(MPI_Comm_rank(comm, &rank));
  for (int i = 0; i < all; ++i) codes[i] = -1;
  if (twice) {
    char* programs[] = {(char*)program, (char*)program};
    char** lists[] = {arguments, arguments};
    int most[] = {maxprocs, maxprocs};
    OK(MPI_Comm_spawn_multiple(rank == root ? 2 : -1, rank == root ? programs : NULL,
                               rank == root ? lists : NULL, rank == root ? most : NULL,
                               rank == root ? infos : NULL, root, comm, children, codes));
  } else {
    OK(MPI_Comm_spawn(rank == root ? program : NULL, arguments, rank == root ? maxprocs : -1,
                      infos[0], root, comm, children, codes));
  }
  for (int i = 0; i < all; ++i) CHECK(codes[i] == MPI_SUCCESS);
  free(codes);
}

#endif
