/* A job for killed.sh to disturb: each process says "pid INDEX PID", then stays where argv[1] says.
 *   before    all but the last process are in MPI_Init, the last one is not
 *   wait      all wait for a message of the last rank, which only looks for messages
 *   compute   no rank calls MPI
 *   chatty    as wait, and the last rank writes a line every millisecond
 *   finalize  all but the last rank are in MPI_Finalize
 *   after     all have called MPI_Finalize, the last rank's program goes on
 *   verify    the last rank sends numbered, checksummed messages to all as fast as it can; the
 *             others check whatever they get, and say so by "good COUNT" on stdout now and then
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void say_pid(void) {
  const char* text = getenv("FGMPI_NFG");
  int each = text ? atoi(text) : 1;
  if (rank % each) return;
  printf("pid %d %d\n", rank / each, (int)getpid());
  fflush(stdout);
}

static void stay(void) {
  for (;;) pause();
}

enum { kMost = 300000 };

static unsigned sum_of(const unsigned* words, int count) {
  unsigned sum = 1;
  for (int i = 0; i < count; ++i) sum = sum * 31 + words[i];
  return sum;
}

/* words[0]: number, words[1]: sum of the rest. */
static void verify(void) {
  unsigned* words = malloc(kMost * sizeof *words);
  unsigned number = 0, seed = 1;
  if (rank == size - 1) {
    for (;; ++number) {
      seed = seed * 1664525 + 1013904223;
      int count = 2 + (int)(seed >> 8) % (number % 16 ? 500 : kMost - 2);
      for (int i = 2; i < count; ++i) words[i] = seed + i * 2654435761u;
      words[0] = number;
      words[1] = sum_of(words + 2, count - 2);
      for (int r = 0; r + 1 < size; ++r) MPI_Send(words, count, MPI_UNSIGNED, r, 1, MPI_COMM_WORLD);
    }
  }
  for (;; ++number) {
    MPI_Status status;
    int count;
    memset(words, 0, 64);
    MPI_Recv(words, kMost, MPI_UNSIGNED, size - 1, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_UNSIGNED, &count);
    if (count < 2 || words[0] != number || words[1] != sum_of(words + 2, count - 2)) {
      printf("rank %d: message %u is damaged\n", rank, number);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (number % 64 == 63 && rank == 0) {
      printf("good %u\n", number + 1);
      fflush(stdout);
    }
  }
}

int main(int argc, char** argv) {
  const char* where = argc > 1 ? argv[1] : "wait";
  int there = 0;
  char byte;
  if (!strcmp(where, "before")) {
    const char* index = getenv("PMI_RANK");
    const char* processes = getenv("PMI_SIZE");
    rank = index ? atoi(index) : 0;
    size = processes ? atoi(processes) : 1;
    printf("pid %d %d\n", rank, (int)getpid());
    fflush(stdout);
    if (rank == size - 1) stay();
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  say_pid();
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(where, "compute")) stay();
  if (!strcmp(where, "verify")) verify();
  if (!strcmp(where, "finalize") && rank == size - 1) stay();
  if (!strcmp(where, "wait") || !strcmp(where, "chatty")) {
    if (rank != size - 1)
      MPI_Recv(&byte, 1, MPI_BYTE, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (; !there; usleep(1000)) {
      if (where[0] == 'c') printf("line\n"), fflush(stdout);
      MPI_Iprobe(0, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  if (!strcmp(where, "after") && rank == size - 1) stay();
  return 0;
}
