/* What a rank has of its own when it is saved: variables of the program, its stack, blocks of malloc,
 * anonymous mappings, random numbers, thread-local variables; a communicator, a pending receive and
 * a message on its way. state STEPS: in the middle of as many steps, all ranks are saved. The output
 * is the same whether the run goes on or was started again. */
#include <math.h>
#include <sys/mman.h>

#include "checkpoint.h"

enum { kValues = 20000, kMapped = 1 << 16 };
static long sum_of_steps = 1;
static char unused_at_first[100000];
static __thread int of_thread = 17;

typedef struct Node {
  struct Node* next;
  int value;
} Node;

static Node* add(Node* list, int value) {
  Node* node = malloc(sizeof *node);
  node->next = list;
  node->value = value;
  return node;
}

static double work(double* values, int step) {
  double sum = 0;
  for (int i = 0; i < kValues; ++i) sum += values[i] += sin(i + rank + step);
  return sum;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 8, left = (rank + size - 1) % size,
            right = (rank + 1) % size;
  double* values = calloc(kValues, sizeof *values);
  char* mapped = mmap(NULL, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Node* list = NULL;
  int on_stack[50], got = -1, late = -1;
  MPI_Comm half;
  MPI_Request pending;
  CHECK(mapped != MAP_FAILED);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &pending);
  const int token = 1000 + rank;
  MPI_Send(&token, 1, MPI_INT, right, 2, MPI_COMM_WORLD); /* is received behind the last step */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  srand(rank + 3);
  of_thread += rank;
  for (int i = 0; i < 50; ++i) on_stack[i] = i * rank;
  for (int step = 0; step < steps; ++step) {
    double own = work(values, step), all = 0;
    list = add(list, step);
    mapped[step] = (char)step;
    unused_at_first[step * 10] = (char)(step + 1);
    sum_of_steps += step;
    own += rand() % 1000;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, half);
    if (rank < 2) printf("rank %d step %d: %.6f\n", rank, step, all);
    fflush(stdout);
    if (step == steps / 2) checkpoint();
  }
  MPI_Send(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
  MPI_Recv(&late, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_Send(&token, 1, MPI_INT, size, 1, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(MPI_Reduce_local(&got, &late, 1, MPI_INT, MPI_MAXLOC) != MPI_SUCCESS);
  CHECK(got == 1000 + left && late == 1000 + left);
  CHECK(sum_of_steps == 1 + steps * (steps - 1L) / 2 && of_thread == 17 + rank);
  for (int i = 0; i < 50; ++i) CHECK(on_stack[i] == i * rank);
  for (int step = steps - 1; step >= 0; --step) {
    CHECK(list && list->value == step && mapped[step] == step);
    CHECK(unused_at_first[step * 10] == step + 1);
    Node* next = list->next;
    free(list);
    list = next;
  }
  CHECK(!list && munmap(mapped, kMapped) == 0);
  free(values);
  MPI_Comm_free(&half);
  return finish();
}
