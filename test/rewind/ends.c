// Ends of runs: abort, segfault, deadlock, exit; spin: waits to be killed; thread, child:
// what cannot be recorded.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void* nothing(void* argument) { return argument; }

static void talk(int rank, int size, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    int value = i;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  printf("%d talked at %ld\n", rank, (long)time(NULL));
}

static void end(const char* how, int rank, int size) {
  const int last = rank == size - 1;
  if (!strcmp(how, "abort") && last) MPI_Abort(MPI_COMM_WORLD, 5);
  if (!strcmp(how, "segfault") && last) raise(SIGSEGV);
  if (!strcmp(how, "fault") && last) *(volatile int*)8 = 1;
  if (!strcmp(how, "exit") && last) exit(7);
  if (!strcmp(how, "deadlock")) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(how, "spin"))
    for (;;) talk(rank, size, 1000);
  if (!strcmp(how, "thread") && last) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
  }
  if (!strcmp(how, "child") && last && system("true") != 0) exit(3);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  talk(rank, size, 20);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  end(argc > 1 ? argv[1] : "", rank, size);
  MPI_Finalize();
  return 0;
}
