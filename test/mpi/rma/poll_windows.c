/* A token goes round the ranks, which see it only by polls: first by MPI_Parrived, a partition at a
 * time, then by MPI_Win_test. */
#include "mpitest.h"

enum { kParts = 6, kRounds = 4 };
static int g_rank, g_right, g_left;

static void wait_for_partition(MPI_Request request, int partition) {
  for (int arrived = 0; !arrived;) OK(MPI_Parrived(request, partition, &arrived));
}

static void pass_partitions(void) {
  int in[kParts], out[kParts];
  MPI_Request requests[2];
  OK(MPI_Precv_init(in, kParts, 1, MPI_INT, g_left, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[0]));
  OK(MPI_Psend_init(out, kParts, 1, MPI_INT, g_right, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[1]));
  for (int round = 0; round < kRounds; round++) {
    OK(MPI_Startall(2, requests));
    for (int i = 0; i < kParts; i++) {
      const int part = round % 2 ? kParts - 1 - i : i;
      const int first = 100 * round + part;
      if (g_rank > 0) wait_for_partition(requests[0], part);
      out[part] = g_rank > 0 ? in[part] + 1 : first;
      OK(MPI_Pready(part, requests[1]));
      if (g_rank == 0) wait_for_partition(requests[0], part);
      CHECK(in[part] == first + g_left);
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

static void wait_for_exposure(MPI_Win window) {
  for (int done = 0; !done;) OK(MPI_Win_test(window, &done));
}

static void pass_window(void) {
  MPI_Group world, left, right;
  MPI_Win window;
  int memory = -1;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_incl(world, 1, &g_left, &left));
  OK(MPI_Group_incl(world, 1, &g_right, &right));
  OK(MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  for (int round = 0; round < kRounds; round++) {
    OK(MPI_Win_post(left, 0, window));
    OK(MPI_Win_start(right, 0, window));
    if (g_rank > 0) wait_for_exposure(window);
    const int value = g_rank > 0 ? memory + 1 : 1000 * round;
    OK(MPI_Put(&value, 1, MPI_INT, g_right, 0, 1, MPI_INT, window));
    OK(MPI_Win_complete(window));
    if (g_rank == 0) wait_for_exposure(window);
    CHECK(memory == 1000 * round + g_left);
  }
  OK(MPI_Win_free(&window));
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&left));
  OK(MPI_Group_free(&right));
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  g_right = (g_rank + 1) % size;
  g_left = (g_rank + size - 1) % size;
  pass_partitions();
  pass_window();
  return finish();
}
