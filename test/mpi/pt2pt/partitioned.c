/* Partitioned communication with equal and different partitionings, several rounds, and PROC_NULL.
 */
#include "mpitest.h"

enum { kTotal = 240 };

static int rank, size, next, prev;

static void rounds(int sender_parts, int receiver_parts, int strided) {
  static int outv[kTotal], in[2 * kTotal];
  MPI_Request s, r;
  MPI_Datatype type = MPI_INT;
  int each = kTotal / receiver_parts;
  if (strided) {
    MPI_Datatype two;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &two));
    OK(MPI_Type_commit(&two));
    type = two;
  }
  OK(MPI_Psend_init(outv, sender_parts, kTotal / sender_parts, MPI_INT, next, 3, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &s));
  OK(MPI_Precv_init(in, receiver_parts, each, type, prev, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < kTotal; i++) outv[i] = rank * 7 + round * 1000 + i;
    OK(MPI_Start(&r));
    OK(MPI_Start(&s));
    if (round % 2) {
      for (int i = sender_parts - 1; i >= 0; i--) OK(MPI_Pready(i, s));
    } else if (sender_parts > 2) {
      int list[2] = {1, 0};
      OK(MPI_Pready_list(2, list, s));
      OK(MPI_Pready_range(2, sender_parts - 1, s));
    } else {
      OK(MPI_Pready_range(0, sender_parts - 1, s));
    }
    for (int part = receiver_parts - 1; part >= 0; part--) {
      int flag = 0;
      while (!flag) OK(MPI_Parrived(r, part, &flag));
      for (int k = part * each; k < (part + 1) * each; k++)
        CHECK(in[strided ? 2 * k : k] == prev * 7 + round * 1000 + k);
    }
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&s));
  OK(MPI_Request_free(&r));
  if (strided) OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  MPI_Request r;
  int flag, x = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  prev = (rank + size - 1) % size;
  rounds(1, 1, 0);
  rounds(8, 8, 0);
  rounds(3, 8, 0);
  rounds(8, 3, 0);
  rounds(5, 4, 1);
  OK(MPI_Psend_init(&x, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
  OK(MPI_Start(&r));
  OK(MPI_Pready(0, r));
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&r));
  OK(MPI_Precv_init(&x, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
  OK(MPI_Start(&r));
  OK(MPI_Parrived(r, 0, &flag));
  CHECK(flag);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&r));
  return finish();
}
