/* How two jobs that were started apart meet: the name of the port passes through a file. */
#ifndef FGMPI_TEST_DYNAMIC_MEETING_H
#define FGMPI_TEST_DYNAMIC_MEETING_H

#include <stdio.h>
#include <unistd.h>

#include "mpitest.h"

static inline void write_port(const char* path, const char* port) {
  char whole[4096];
  snprintf(whole, sizeof whole, "%s.new", path);
  FILE* f = fopen(whole, "w");
  CHECK(f && fputs(port, f) >= 0 && fclose(f) == 0);
  CHECK(rename(whole, path) == 0);
}

static inline void read_port(const char* path, char port[MPI_MAX_PORT_NAME]) {
  FILE* f = NULL;
  for (int i = 0; i < 6000 && !(f = fopen(path, "r")); ++i) usleep(10000);
  CHECK(f && fgets(port, MPI_MAX_PORT_NAME, f));
  fclose(f);
}

/* Opens or reads the port, at rank 0. */
static inline void find_port(int accepts, const char* path, char port[MPI_MAX_PORT_NAME]) {
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (rank != 0) return;
  if (accepts) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    write_port(path, port);
  } else {
    read_port(path, port);
  }
}

static inline MPI_Comm meet(int accepts, const char* port) {
  MPI_Comm inter;
  if (accepts)
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  else
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  return inter;
}

#endif
