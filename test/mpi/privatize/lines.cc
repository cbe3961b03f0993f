// Writes lines in pieces with MPI calls between them, through stdio, iostreams and write(); run by
// output.sh.
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "mpitest.h"

int main(int argc, char** argv) {
  int rank;
  std::ios::sync_with_stdio(false);
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (int i = 0; i < 10; ++i) {
    std::printf("<%d", rank);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    std::cout << " stream" << std::flush;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    std::printf(" stdio");
    std::fflush(stdout);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (write(STDOUT_FILENO, " write", 6) != 6) return 1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    std::cout << " " << rank << ">" << std::endl;
  }
  OK(MPI_Finalize());
  return 0;
}
