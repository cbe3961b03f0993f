/* Partitioned communication with equal and different partitionings, several rounds, and PROC_NULL.
 */
#include <fgmpi.h>

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

/* Partitions of types with gaps, where a partition of one side ends within an element of the
 * other's. Gaps keep what they have. */
static void uneven(int sender_parts, int receiver_parts, int triples) {
  const int total = 3 * triples;
  int *out = malloc(2 * total * sizeof *out), *in = malloc(2 * total * sizeof *in);
  MPI_Datatype pairs, vector, three;
  MPI_Request s, r;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pairs)); /* one int, a gap, one int */
  OK(MPI_Type_commit(&pairs));
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &vector));
  OK(MPI_Type_create_resized(vector, 0, 6 * sizeof(int), &three));
  OK(MPI_Type_free(&vector));
  OK(MPI_Type_commit(&three));
  CHECK(total % sender_parts == 0 && triples % receiver_parts == 0);
  const int each = total / sender_parts, strided = each % 2 == 0;
  OK(MPI_Psend_init(out, sender_parts, strided ? each / 2 : each, strided ? pairs : MPI_INT, next,
                    4, MPI_COMM_WORLD, MPI_INFO_NULL, &s));
  OK(MPI_Precv_init(in, receiver_parts, triples / receiver_parts, three, prev, 4, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &r));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < total; i++) {
      /* An element of `pairs` is three ints long. */
      out[strided ? i / 2 * 3 + i % 2 * 2 : i] = rank * 7 + round * 1000 + i;
      in[2 * i] = in[2 * i + 1] = -1;
    }
    OK(MPI_Start(&r));
    OK(MPI_Start(&s));
    for (int part = sender_parts; part-- > 0;) OK(MPI_Pready(part, s));
    for (int part = 0; part < receiver_parts; part++) {
      int flag = 0;
      while (!flag) OK(MPI_Parrived(r, part, &flag));
      for (int k = part * (total / receiver_parts); k < (part + 1) * (total / receiver_parts); k++)
        CHECK(in[2 * k] == prev * 7 + round * 1000 + k && in[2 * k + 1] == -1);
    }
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&s));
  OK(MPI_Request_free(&r));
  OK(MPI_Type_free(&pairs));
  OK(MPI_Type_free(&three));
  free(out);
  free(in);
}

/* Partitions of no bytes arrive when they are marked ready, one by one, and not before. */
static void empty_partitions(int sender_parts, int receiver_parts, int receiver_count) {
  MPI_Request s, r;
  int in[64] = {0}, out[1] = {0}, flag;
  OK(MPI_Psend_init_c(out, sender_parts, 0, MPI_INT, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &s));
  OK(MPI_Precv_init_c(in, receiver_parts, receiver_count, MPI_INT, prev, 5, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &r));
  for (int round = 0; round < 2; round++) {
    OK(MPI_Start(&r));
    OK(MPI_Start(&s));
    for (int ready = 0; ready <= sender_parts; ready++) {
      /* `ready` of the sender's partitions, the last ones, are marked, and no more until all have
       * looked. */
      OK(MPI_Barrier(MPI_COMM_WORLD));
      for (int part = 0; part < receiver_parts; part++) {
        /* The first of the sender's partitions that this one depends on. */
        int first = part * sender_parts / receiver_parts, due = first >= sender_parts - ready;
        for (int tries = 0; tries < 20; tries++) {
          OK(MPI_Parrived(r, part, &flag));
          if (due && !flag) tries = 0;
          CHECK(due || !flag);
        }
      }
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (ready < sender_parts) OK(MPI_Pready(sender_parts - 1 - ready, s));
    }
    OK(MPI_Wait(&s, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&s));
  OK(MPI_Request_free(&r));
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
  uneven(1, 1, 10);
  uneven(7, 5, 35);
  uneven(5, 7, 70);
  uneven(4, 3, 60000); /* longer than what is sent at once */
  uneven(5, 2, 50000);
  empty_partitions(1, 1, 0);
  empty_partitions(4, 4, 0);
  empty_partitions(2, 6, 0);
  empty_partitions(6, 3, 0);
  empty_partitions(4, 4, 3);
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
  /* Of an inactive request, and of none, all has arrived. */
  flag = 0;
  OK(MPI_Parrived(r, 0, &flag));
  CHECK(flag == 1);
  OK(MPI_Request_free(&r));
  flag = 0;
  OK(MPI_Parrived(r, 0, &flag));
  CHECK(r == MPI_REQUEST_NULL && flag == 1);
  return finish();
}
