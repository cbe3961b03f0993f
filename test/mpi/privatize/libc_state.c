/* What the C library or the processor keeps once per process and programs use as theirs: rand,
 * drand48, strtok, getopt, how numbers are rounded. */
#include <fenv.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

/* The numbers that a rank alone would get: the state is drawn here again from the same seed. */
static void check_rand(int rank) {
  int got[6], i;
  double real[6];
  srand((unsigned)rank + 1);
  srand48(rank);
  for (i = 0; i < 6; ++i) {
    got[i] = rand();
    real[i] = drand48();
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  srand((unsigned)rank + 1);
  srand48(rank);
  for (i = 0; i < 6; ++i) CHECK(got[i] == rand() && real[i] == drand48());
}

/* A state of the rank's own memory; then back to the one before. */
static void check_states(int rank) {
  char own[64], *before;
  long got[4], next;
  int i;
  srandom(5);
  next = random();
  srandom(5);
  before = initstate((unsigned)rank + 1, own, sizeof own);
  CHECK(before != NULL && before != own);
  for (i = 0; i < 4; ++i) {
    got[i] = random();
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK(setstate(before) == own && random() == next);
  initstate((unsigned)rank + 1, own, sizeof own);
  for (i = 0; i < 4; ++i) CHECK(got[i] == random());
  CHECK(setstate(before) == own);
}

static void check_strtok(int rank) {
  char text[64];
  char* part;
  snprintf(text, sizeof text, "%d,%d,%d", rank, rank + 1, rank + 2);
  for (part = strtok(text, ","); part; part = strtok(NULL, ",")) {
    CHECK(atoi(part) == rank++);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

static void check_getopt(void) {
  char name[] = "prog", a[] = "-a", b[] = "-b", value[] = "value", rest[] = "rest";
  char* arguments[] = {name, a, b,   value,
                       rest, a, NULL}; /* "+": nothing behind `rest` is an option */
  int option, seen = 0;
  CHECK(optind == 1);
  while ((option = getopt(6, arguments, "+ab:")) != -1) {
    seen = seen * 2 + (option == 'a' ? 1 : 2);
    if (option == 'b') CHECK(strcmp(optarg, "value") == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK(seen == 4 && optind == 4 && strcmp(arguments[optind], "rest") == 0);
}

static void check_rounding(int rank) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const int mine = modes[rank % 4];
  int i;
  CHECK(fesetround(mine) == 0);
  for (i = 0; i < 3; ++i) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(fegetround() == mine);
  }
  CHECK(fesetround(FE_TONEAREST) == 0);
}

int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check_rand(rank);
  check_states(rank);
  check_strtok(rank);
  check_getopt();
  check_rounding(rank);
  return finish();
}
