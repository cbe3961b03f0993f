/* Rank 1 ends in the way that the argument says, with an unfinished line in stdout's buffer; run by
 * ends.sh. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <error.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static void handler(void) { printf("handler of %d\n", rank); }
static void quick_handler(void) { printf("quick handler of %d\n", rank); }

static void end(const char* how) {
  printf("unfinished ");
  errno = ENOENT;
  if (!strcmp(how, "err")) err(5, "number %d", 17);
  if (!strcmp(how, "errx")) errx(6, "number %d", 17);
  if (!strcmp(how, "error")) error(7, ENOENT, "number %d", 17);
  if (!strcmp(how, "error_at_line")) error_at_line(8, 0, "input.txt", 12, "number %d", 17);
  if (!strcmp(how, "exit")) exit(9);
  if (!strcmp(how, "quick_exit")) quick_exit(10);
  if (!strcmp(how, "_exit")) _exit(11);
  if (!strcmp(how, "_Exit")) _Exit(12);
  if (!strcmp(how, "pthread_exit")) pthread_exit(NULL);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "error0")) {
    error(0, 0, "goes on");
    exit(13);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  atexit(handler);
  at_quick_exit(quick_handler);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) end(argc > 1 ? argv[1] : "");
  usleep(20000); /* rank 1 ends first */
  MPI_Finalize();
  return 0;
}
