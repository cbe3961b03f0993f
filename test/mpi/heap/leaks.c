/* Leaks memory and holds some in all the ways that pointers may be held. For leaks.sh. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node* next;
  char text[40];
};
static struct node* list;
static __thread char* of_thread;
static pthread_key_t key;

static void hold(int rank) {
  for (int i = 0; i < 100; ++i) {
    struct node* node = malloc(sizeof *node);
    node->next = list;
    list = node;
  }
  of_thread = malloc(33);
  char** inside = malloc(sizeof *inside * 2);
  inside[1] = strdup("held by a block");
  static char* middle;
  middle = (char*)inside + 3; /* a pointer into the block */
  char name[40];
  snprintf(name, sizeof name, "LEAKS_%d=1", rank);
  putenv(strdup(name));
  pthread_key_create(&key, NULL);
  pthread_setspecific(key, malloc(44));
  static char* grown;
  for (int i = 1; i < 100; ++i) grown = realloc(grown, (size_t)i * 1000);
  char* freed = malloc(77);
  free(freed);
  if (middle == grown) puts("never");
}

/* Lets the compiler keep a block. */
static void* volatile seen;
static void* see(void* block) {
  seen = block;
  seen = NULL;
  return block;
}

static void leak(int rank) {
  for (int i = 0; i < 3; ++i) see(malloc(24));   /* in leaks.sh */
  struct node* pair = see(malloc(sizeof *pair)); /* in leaks.sh */
  pair->next = see(malloc(sizeof *pair));        /* in leaks.sh */
  pair->next->next = pair;
  if (rank == 1) see(malloc(100000)); /* in leaks.sh */
}

/* What calls have left on the stack and in registers is no pointer of the program. */
static int overwrite(int depth) {
  volatile char bytes[4096];
  memset((char*)bytes, 0, sizeof bytes);
  return depth ? overwrite(depth - 1) + bytes[depth] : bytes[0];
}

int main(int argc, char** argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  hold(rank);
  if (argc > 1) leak(rank);
  int* buffer = malloc(sizeof *buffer); /* in leaks.sh */
  *buffer = rank;
  MPI_Allreduce(buffer, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  buffer = argc > 2 ? NULL : (free(buffer), NULL); /* a buffer of MPI */
  MPI_Finalize();
  return overwrite(5);
}
