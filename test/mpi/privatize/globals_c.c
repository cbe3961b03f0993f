/* Every kind of C global with static storage duration: the result differs if any were shared
 * between ranks. */
#include <errno.h>
#include <string.h>

#include "mpitest.h"

int initialised = 41;
int zeroed[3000];
static double file_static = 1.5;
static int* pointer_to_own = &zeroed[17];
_Thread_local int per_thread = 9;
static _Thread_local char per_thread_text[40] = "start";
struct node {
  int value;
  struct node* next;
} second = {2, NULL}, first = {1, &second};
static int own_function(void) { return initialised; }
static int (*table[2])(void) = {own_function, own_function};
static const char* const names[] = {"a", "b"};

static int count_calls(void) {
  static int calls;
  return ++calls;
}

static int handlers_run;
static int my_rank;
static void second_handler(void) {
  if (handlers_run++ != 0 || initialised != 41 + my_rank) abort();
}
static void first_handler(void) {
  if (handlers_run++ != 1) abort();
}

__attribute__((constructor)) static void before_main(void) { file_static += 1; }

static void change(int rank) {
  initialised += rank;
  zeroed[17] = rank;
  file_static += rank;
  per_thread += rank;
  snprintf(per_thread_text, sizeof per_thread_text, "rank %d", rank);
  second.value += rank;
  first.next->value += 1;
  errno = rank + 1;
}

static void verify(int rank, int round) {
  char text[40];
  snprintf(text, sizeof text, "rank %d", rank);
  CHECK(errno == rank + 1);
  CHECK(initialised == 41 + rank);
  CHECK(*pointer_to_own == rank && pointer_to_own == &zeroed[17]);
  CHECK(file_static == 2.5 + rank);
  CHECK(per_thread == 9 + rank);
  CHECK(strcmp(per_thread_text, text) == 0);
  CHECK(second.value == 3 + rank && first.next == &second);
  CHECK(table[0] == own_function && table[1]() == 41 + rank);
  CHECK(names[1][0] == 'b');
  CHECK(count_calls() == round + 1);
}

int main(int argc, char** argv) {
  int rank, size;
  CHECK(file_static == 2.5);
  if (argc > 1) argv[1][0] = 'x';
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  my_rank = rank;
  atexit(first_handler);
  atexit(second_handler);
  change(rank);
  for (int round = 0; round < 5; ++round) {
    verify(rank, round);
    int saved = errno, from_left = -1;
    OK(MPI_Sendrecv(&initialised, 1, MPI_INT, (rank + 1) % size, 3, &from_left, 1, MPI_INT,
                    (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(from_left == 41 + (rank + size - 1) % size);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    errno = saved;
  }
  return finish();
}
