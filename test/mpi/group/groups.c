/* Group operations against plain arrays of world ranks. */
#include <string.h>

#include "mpitest.h"

typedef struct {
  int n;
  int* r;
} List;

static List make(int size) {
  List l;
  l.n = 0;
  l.r = malloc(sizeof(int) * (size_t)(size + 1));
  return l;
}
static int has(List l, int w) {
  for (int i = 0; i < l.n; ++i)
    if (l.r[i] == w) return 1;
  return 0;
}

/* The group lists exactly these world ranks. */
static void check(MPI_Group g, List want, MPI_Group world) {
  int n, rank, me, i, mine = MPI_UNDEFINED;
  int* ranks = malloc(sizeof(int) * (size_t)(want.n + 1));
  int* got = malloc(sizeof(int) * (size_t)(want.n + 1));
  OK(MPI_Group_size(g, &n));
  CHECK(n == want.n);
  CHECK((n == 0) == (g == MPI_GROUP_EMPTY));
  for (i = 0; i < n; ++i) ranks[i] = i;
  OK(MPI_Group_translate_ranks(g, n, ranks, world, got));
  for (i = 0; i < n; ++i) CHECK(got[i] == want.r[i]);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
  for (i = 0; i < n; ++i)
    if (want.r[i] == me) mine = i;
  OK(MPI_Group_rank(g, &rank));
  CHECK(rank == mine);
  free(ranks);
  free(got);
}

static void drop(MPI_Group* g) {
  /* The empty group may be freed like any other that an operation made. */
  OK(MPI_Group_free(g));
  CHECK(*g == MPI_GROUP_NULL);
}

static void test_pair(MPI_Group a, List la, MPI_Group b, List lb, MPI_Group world, int size) {
  MPI_Group g;
  int i, result, same = la.n == lb.n, identical = la.n == lb.n;
  List l = make(2 * size);
  memcpy(l.r, la.r, sizeof(int) * (size_t)la.n);
  l.n = la.n;
  for (i = 0; i < lb.n; ++i)
    if (!has(la, lb.r[i])) l.r[l.n++] = lb.r[i];
  OK(MPI_Group_union(a, b, &g));
  check(g, l, world);
  drop(&g);
  for (l.n = 0, i = 0; i < la.n; ++i)
    if (has(lb, la.r[i])) l.r[l.n++] = la.r[i];
  OK(MPI_Group_intersection(a, b, &g));
  check(g, l, world);
  drop(&g);
  for (l.n = 0, i = 0; i < la.n; ++i)
    if (!has(lb, la.r[i])) l.r[l.n++] = la.r[i];
  OK(MPI_Group_difference(a, b, &g));
  check(g, l, world);
  drop(&g);
  for (i = 0; i < la.n && same; ++i) {
    if (!has(lb, la.r[i])) same = 0;
    if (la.r[i] != lb.r[i]) identical = 0;
  }
  OK(MPI_Group_compare(a, b, &result));
  CHECK(result == (same && identical ? MPI_IDENT : same ? MPI_SIMILAR : MPI_UNEQUAL));
  free(l.r);
}

int main(int argc, char** argv) {
  int size, i, j, n = 0;
  MPI_Group world, groups[8];
  List lists[8];
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int range[2][3];

  /* All, even, backward, two ranges, listed in odd order, all but some. */
  for (i = 0; i < 8; ++i) lists[i] = make(size);
  OK(MPI_Group_incl(world, 0, NULL, &groups[n]));
  CHECK(groups[n] == MPI_GROUP_EMPTY);
  ++n;
  for (i = 0; i < size; ++i) lists[n].r[lists[n].n++] = i;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &groups[n++]));
  range[0][0] = 0, range[0][1] = size - 1, range[0][2] = 2;
  for (i = 0; i < size; i += 2) lists[n].r[lists[n].n++] = i;
  OK(MPI_Group_range_incl(world, 1, range, &groups[n++]));
  range[0][0] = size - 1, range[0][1] = 0, range[0][2] = -1;
  for (i = size - 1; i >= 0; --i) lists[n].r[lists[n].n++] = i;
  OK(MPI_Group_range_incl(world, 1, range, &groups[n++]));
  if (size >= 4) {
    range[0][0] = size - 1, range[0][1] = size - 1, range[0][2] = 1;
    range[1][0] = 0, range[1][1] = size / 2 - 1, range[1][2] = 1;
    lists[n].r[lists[n].n++] = size - 1;
    for (i = 0; i < size / 2; ++i) lists[n].r[lists[n].n++] = i;
    OK(MPI_Group_range_incl(world, 2, range, &groups[n++]));
    range[0][0] = 1, range[0][1] = size - 1, range[0][2] = 3;
    for (i = 0; i < size; ++i)
      if (i % 3 != 1) lists[n].r[lists[n].n++] = i;
    OK(MPI_Group_range_excl(world, 1, range, &groups[n++]));
  }
  for (i = 0; i < size; ++i)
    if (i * 7919 % 5 < 3) lists[n].r[lists[n].n++] = i;
  for (i = 0; i + 1 < lists[n].n; i += 3) {
    int t = lists[n].r[i];
    lists[n].r[i] = lists[n].r[i + 1];
    lists[n].r[i + 1] = t;
  }
  OK(MPI_Group_incl(world, lists[n].n, lists[n].r, &groups[n]));
  ++n;
  {
    int out[1];
    out[0] = size / 2;
    for (i = 0; i < size; ++i)
      if (i != size / 2) lists[n].r[lists[n].n++] = i;
    OK(MPI_Group_excl(world, 1, out, &groups[n++]));
  }
  for (i = 0; i < n; ++i) check(groups[i], lists[i], world);
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) test_pair(groups[i], lists[i], groups[j], lists[j], world, size);

  /* Errors. */
  {
    MPI_Group g;
    int bad[2] = {0, size}, twice[2] = {0, 0}, code, error_class, null = MPI_PROC_NULL, got;
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Group_incl(world, 2, bad, &g);
    OK(MPI_Error_class(code, &error_class));
    CHECK(error_class == MPI_ERR_RANK);
    code = MPI_Group_incl(world, 2, twice, &g);
    OK(MPI_Error_class(code, &error_class));
    CHECK(error_class == MPI_ERR_RANK);
    code = MPI_Group_size(MPI_GROUP_NULL, &got);
    OK(MPI_Error_class(code, &error_class));
    CHECK(error_class == MPI_ERR_GROUP);
    range[0][0] = 0, range[0][1] = size - 1, range[0][2] = 0;
    CHECK(MPI_Group_range_incl(world, 1, range, &g) != MPI_SUCCESS);
    OK(MPI_Group_translate_ranks(world, 1, &null, world, &got));
    CHECK(got == MPI_PROC_NULL);
  }
  for (i = 0; i < n; ++i) {
    if (groups[i] != MPI_GROUP_EMPTY) drop(&groups[i]);
  }
  for (i = 0; i < 8; ++i) free(lists[i].r);
  drop(&world);
  return finish();
}
