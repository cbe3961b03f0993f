/* Multigrid for the one-dimensional Poisson equation, with a communicator for each level: every
 * second rank drops out where the grid gets coarser, until one rank has the coarsest.
 *
 *   mpiexec -ranks 1024 multigrid      (a power of two)
 *
 * Each rank has one point of each level that it takes part in. A V-cycle solves -u'' = 1 to
 * rounding in a dozen rounds. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { LEVELS = 31 };

struct level {
  MPI_Comm comm; /* the ranks that have a point of this level */
  int rank, size;
  double u, f, h;
};
static struct level levels[LEVELS];

/* The neighbours' u; the ends of the interval have 0. */
static void neighbours(const struct level* l, double u, double* left, double* right) {
  int before = l->rank > 0 ? l->rank - 1 : MPI_PROC_NULL,
      after = l->rank < l->size - 1 ? l->rank + 1 : MPI_PROC_NULL;
  *left = *right = 0;
  MPI_Sendrecv(&u, 1, MPI_DOUBLE, after, 1, left, 1, MPI_DOUBLE, before, 1, l->comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u, 1, MPI_DOUBLE, before, 2, right, 1, MPI_DOUBLE, after, 2, l->comm,
               MPI_STATUS_IGNORE);
}

static double residual(const struct level* l) {
  double left, right;
  neighbours(l, l->u, &left, &right);
  return l->f - (2 * l->u - left - right) / (l->h * l->h);
}

/* Points of even number, then those of odd number: Gauss-Seidel in two colours. */
static void smooth(struct level* l) {
  for (int colour = 0; colour < 2; ++colour) {
    double left, right;
    neighbours(l, l->u, &left, &right);
    if (l->rank % 2 == colour) l->u = (left + right + l->h * l->h * l->f) / 2;
  }
}

/* Point 2 i + 1 of this level is point i of the next. A level has 2^k - 1 points; of 2^k ranks the
 * last one looks on. */
static void cycle(int k) {
  struct level *fine = &levels[k], *coarse = &levels[k + 1];
  if (fine->size == 1) {
    fine->u = fine->h * fine->h * fine->f / 2;
    return;
  }
  smooth(fine);
  double r = residual(fine), left, right;
  neighbours(fine, r, &left, &right);
  if (fine->rank % 2) {
    coarse->f = (left + 2 * r + right) / 4;
    coarse->u = 0;
    cycle(k + 1);
  }
  double correction = fine->rank % 2 ? coarse->u : 0;
  neighbours(fine, correction, &left, &right);
  fine->u += fine->rank % 2 ? correction : (left + right) / 2;
  smooth(fine);
}

int main(int argc, char** argv) {
  int rank, size, made = 0, points;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (points = 1; 2 * points <= size; points *= 2) continue;
  --points; /* 2^k - 1 */
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank < points ? 0 : MPI_UNDEFINED, rank, &comm);
  double error = 0, largest;
  for (double h = 1.0 / (points + 1); comm != MPI_COMM_NULL; h *= 2) {
    struct level* l = &levels[made++];
    l->comm = comm;
    l->h = h;
    MPI_Comm_rank(comm, &l->rank);
    MPI_Comm_size(comm, &l->size);
    if (l->size == 1) break;
    MPI_Comm_split(comm, l->rank % 2 ? 0 : MPI_UNDEFINED, l->rank, &comm);
  }
  int rounds = 12;
  if (rank < points) {
    levels[0].f = 1;
    for (int round = 0; round < rounds; ++round) cycle(0);
    double x = (rank + 1) * levels[0].h;
    error = fabs(levels[0].u - x * (1 - x) / 2);
  }
  MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  int deepest;
  MPI_Reduce(&made, &deepest, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d points, %d levels, %d rounds: largest error %.1e: %s\n", points, deepest, rounds,
           largest, largest < 1e-9 ? "right" : "WRONG");
  for (int k = 0; k < made; ++k) MPI_Comm_free(&levels[k].comm);
  MPI_Finalize();
  return largest >= 1e-9;
}
