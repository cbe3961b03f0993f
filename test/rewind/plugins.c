// The ranks load libraries while they run, each its own copy, and a message of each depends on the copy's variable.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 3; ++round) {
    void* library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    int* const calls = dlsym(library, "g_calls");
    int (*const call)(int) = (int (*)(int))dlsym(library, "call");
    if (!calls || !call) MPI_Abort(MPI_COMM_WORLD, 4);
    for (int i = 0; i <= rank; ++i) call(round);
    MPI_Allreduce(calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("round %d: %d calls at %p\n", round, sum, (void*)calls);
    if (round == 1) dlclose(library), dlclose(library);  // gone: the next one begins with 0
  }
  MPI_Finalize();
  return 0;
}
