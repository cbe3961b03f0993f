/* Deep recursion: quicksort that meets sorted numbers, its worst case, with an array in each
 * call. */
#include <stdlib.h>
#include "mpi.h"

#define N 4000
int data[N];
int deepest;

sort(low, high, depth) {
  int swapped[64], i, last; /* about 300 bytes a call */
  if (depth > deepest) deepest = depth;
  if (low >= high) return 0;
  last = low;
  for (i = low + 1; i <= high; i++)
    if (data[i] < data[low]) {
      swapped[0] = data[++last];
      data[last] = data[i];
      data[i] = swapped[0];
    }
  swapped[63] = data[low];
  data[low] = data[last];
  data[last] = swapped[63];
  sort(low, last - 1, depth + 1);
  sort(last + 1, high, depth + 1);
  return swapped[63];
}

main(argc, argv) char** argv;
{
  int i;
  MPI_Init(&argc, &argv);
  for (i = 0; i < N; i++) data[i] = i;
  sort(0, N - 1, 0);
  for (i = 0; i < N; i++)
    if (data[i] != i) abort();
  if (deepest < N / 2) abort();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  exit(0);
}
