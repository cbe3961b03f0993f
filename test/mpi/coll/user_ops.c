/* Operations of the program: called with the count that the program gave, with its type, in rank
 * order where they do not commute, for short and long vectors. */
#include "mpitest.h"

static int wanted;
static MPI_Datatype wanted_type;
static long calls;

static void check_call(int* count, MPI_Datatype* type) {
  CHECK(*count == wanted && *type == wanted_type);
  ++calls;
}

static void sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  check_call(count, type);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Composition of x -> a x + b in arithmetic modulo 2^32: associative, not commutative. */
typedef struct {
  unsigned a, b;
} Map;

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  check_call(count, type);
  Map *left = in, *right = inout;
  for (int i = 0; i < *count; ++i) {
    right[i].b += right[i].a * left[i].b;
    right[i].a *= left[i].a;
  }
}

static Map map_of(int rank, int i) {
  Map m = {(unsigned)(2 * rank + i) | 1u, (unsigned)(rank * 31 + i)};
  return m;
}

static Map expected(int ranks, int i) {
  Map all = map_of(0, i);
  for (int r = 1; r < ranks; ++r) {
    Map m = map_of(r, i);
    all.b = m.b + m.a * all.b;
    all.a *= m.a;
  }
  return all;
}

static void sums(int rank, int size, int count, MPI_Op op) {
  int *mine = malloc((size_t)count * sizeof *mine), *all = malloc((size_t)count * sizeof *all);
  wanted = count;
  wanted_type = MPI_INT;
  for (int i = 0; i < count; ++i) mine[i] = rank + i;
  OK(MPI_Allreduce(mine, all, count, MPI_INT, op, MPI_COMM_WORLD));
  for (int i = 0; i < count; ++i) CHECK(all[i] == size * (size - 1) / 2 + size * i);
  OK(MPI_Reduce(rank == size - 1 ? MPI_IN_PLACE : mine, mine, count, MPI_INT, op, size - 1,
                MPI_COMM_WORLD));
  if (rank == size - 1) CHECK(mine[count - 1] == size * (size - 1) / 2 + size * (count - 1));
  for (int i = 0; i < count; ++i) mine[i] = rank + i;
  OK(MPI_Scan(mine, all, count, MPI_INT, op, MPI_COMM_WORLD));
  for (int i = 0; i < count; ++i) CHECK(all[i] == rank * (rank + 1) / 2 + (rank + 1) * i);
  free(mine);
  free(all);
}

static void maps(int rank, int size, int count, MPI_Op op, MPI_Datatype type) {
  Map *mine = malloc((size_t)count * sizeof *mine), *all = malloc((size_t)count * sizeof *all);
  wanted = count;
  wanted_type = type;
  for (int i = 0; i < count; ++i) mine[i] = map_of(rank, i);
  OK(MPI_Allreduce(mine, all, count, type, op, MPI_COMM_WORLD));
  for (int i = 0; i < count; i += 97) {
    Map m = expected(size, i);
    CHECK(all[i].a == m.a && all[i].b == m.b);
  }
  OK(MPI_Exscan(mine, all, count, type, op, MPI_COMM_WORLD));
  for (int i = 0; rank > 0 && i < count; i += 97) {
    Map m = expected(rank, i);
    CHECK(all[i].a == m.a && all[i].b == m.b);
  }
  free(mine);
  free(all);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Op add, after;
  MPI_Datatype type;
  OK(MPI_Op_create(sum, 1, &add));
  OK(MPI_Op_create(compose, 0, &after));
  OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &type));
  OK(MPI_Type_commit(&type));
  const int counts[] = {1, 7, 3000, 70000};
  for (int c = 0; c < 4; ++c) {
    sums(rank, size, counts[c], add);
    maps(rank, size, counts[c], after, type);
  }
  long calls_of_all = 0; /* which rank's function is called depends on the order of the ranks */
  OK(MPI_Allreduce(&calls, &calls_of_all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(size == 1 || calls_of_all > 0);
  OK(MPI_Op_free(&add));
  OK(MPI_Op_free(&after));
  OK(MPI_Type_free(&type));
  return finish();
}
