/* A child in C, for other programs. */
#include "child_of_others.h"

static int counted = 41;

int main(int argc, char** argv) {
  CHECK(++counted == 42);
  MPI_Init(&argc, &argv);
  return greet_parents(argc, argv);
}
