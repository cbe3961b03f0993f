/* A film that zooms into the Mandelbrot set. Each rank computes a band of every picture. Bands inside of the set take a hundred times
 * as long as those outside, and nobody knows before which these are.  zoom PICTURES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWidth = 240, kRows = 4, kMost = 2000 };

static long steps_of(double x, double y) {
  double re = 0, im = 0;
  long steps = 0;
  while (re * re + im * im < 4 && steps < kMost) {
    const double next = re * re - im * im + x;
    im = 2 * re * im + y;
    re = next;
    ++steps;
  }
  return steps;
}

static long draw(int rank, int size, double zoom) {
  long steps = 0;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kWidth; ++column)
      steps += steps_of(-0.6 + (column * 3.0 / kWidth - 1.5) / zoom,
                        ((rank * kRows + row) * 2.4 / (size * kRows) - 1.9) / zoom);
  return steps;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int pictures = argc > 1 ? atoi(argv[1]) : 100;
  long all = 0;
  for (int i = 0; i < pictures; ++i) {
    const long steps = draw(rank, size, 1 + 0.002 * i);
    long sum = 0;
    MPI_Allreduce(&steps, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    all += sum;
  }
  if (rank == 0) printf("%d pictures, %ld steps\n", pictures, all);
  MPI_Finalize();
  return 0;
}
