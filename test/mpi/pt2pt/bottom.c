/* MPI_BOTTOM with types that hold absolute addresses: scattered and in one piece, small and by
 * rendezvous, sent, received, broadcast, gathered, reduced by a user's operation; MPI_DATATYPE_NULL
 * where the count is zero. */
#include <string.h>

#include "mpitest.h"

#define MOST 40000

typedef struct {
  char letter;
  double number;
  int list[3];
} Record;

/* The members of one record, without the gaps between them. */
static MPI_Datatype members_of(Record* r) {
  int lengths[3] = {1, 1, 3};
  MPI_Aint at[3];
  MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, made;
  OK(MPI_Get_address(&r->letter, &at[0]));
  OK(MPI_Get_address(&r->number, &at[1]));
  OK(MPI_Get_address(r->list, &at[2]));
  OK(MPI_Type_create_struct(3, lengths, at, types, &made));
  OK(MPI_Type_commit(&made));
  return made;
}

/* `count` integers at their absolute address, every second one or all. */
static MPI_Datatype integers_at(int* first, int count, int stride) {
  MPI_Datatype vector, made;
  MPI_Aint at;
  int one = 1;
  OK(MPI_Type_vector(count, 1, stride, MPI_INT, &vector));
  OK(MPI_Get_address(first, &at));
  OK(MPI_Type_create_hindexed(1, &one, &at, vector, &made));
  OK(MPI_Type_commit(&made));
  OK(MPI_Type_free(&vector));
  return made;
}

static void exchange_records(int rank, int size) {
  Record mine, theirs;
  memset(&mine, 0, sizeof mine);
  memset(&theirs, 0x55, sizeof theirs);
  mine.letter = (char)('a' + rank % 26);
  mine.number = rank + 0.5;
  for (int i = 0; i < 3; ++i) mine.list[i] = rank * 10 + i;
  MPI_Datatype out = members_of(&mine), in = members_of(&theirs);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Status status;
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, out, next, 1, MPI_BOTTOM, 1, in, before, 1, MPI_COMM_WORLD,
                  &status));
  CHECK(theirs.letter == 'a' + before % 26 && theirs.number == before + 0.5 &&
        theirs.list[2] == before * 10 + 2);
  int count;
  OK(MPI_Get_count(&status, in, &count));
  CHECK(count == 1);
  OK(MPI_Bcast(MPI_BOTTOM, 1, out, size - 1, MPI_COMM_WORLD));
  CHECK(mine.number == size - 1 + 0.5 && mine.list[1] == (size - 1) * 10 + 1);
  OK(MPI_Type_free(&out));
  OK(MPI_Type_free(&in));
}

static void exchange_integers(int rank, int size, int count, int out_stride, int in_stride) {
  static int source[2 * MOST], target[2 * MOST];
  for (int i = 0; i < 2 * count; ++i) {
    source[i] = rank * 7 + i;
    target[i] = -1;
  }
  MPI_Datatype out = integers_at(source, count, out_stride),
               in = integers_at(target, count, in_stride);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Request requests[2];
  OK(MPI_Irecv(MPI_BOTTOM, 1, in, before, 2, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(MPI_BOTTOM, 1, out, next, 2, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < count; ++i) CHECK(target[i * in_stride] == before * 7 + i * out_stride);
  if (in_stride == 2) CHECK(target[1] == -1);
  OK(MPI_Type_free(&out));
  OK(MPI_Type_free(&in));
}

static void gather_and_sum(int rank, int size) {
  int mine[4] = {rank, -1, rank * 2, -1};
  MPI_Datatype out = integers_at(mine, 2, 2);
  int* all = malloc((size_t)size * 2 * sizeof *all);
  OK(MPI_Allgather(MPI_BOTTOM, 1, out, all, 2, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) CHECK(all[2 * r] == r && all[2 * r + 1] == 2 * r);
  OK(MPI_Scatter(all, 2, MPI_INT, MPI_BOTTOM, 1, out, 0, MPI_COMM_WORLD));
  CHECK(mine[0] == rank && mine[2] == 2 * rank && mine[1] == -1);
  free(all);
  OK(MPI_Type_free(&out));
}

static void nothing(int rank, int size) {
  OK(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, (rank + 1) % size, 3, NULL, 0, MPI_DATATYPE_NULL,
                  (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  exchange_records(rank, size);
  const int counts[] = {1, 2, 3, 1000, MOST};
  for (int c = 0; c < 5; ++c)
    for (int strides = 0; strides < 4; ++strides)
      exchange_integers(rank, size, counts[c], 1 + strides / 2, 1 + strides % 2);
  gather_and_sum(rank, size);
  nothing(rank, size);
  return finish();
}
