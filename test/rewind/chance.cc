// Random numbers of C++, which may come from an instruction; iostreams read standard input.
#include <mpi.h>

#include <chrono>
#include <iostream>
#include <random>
#include <string>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::random_device device;
  std::mt19937 generator(device());
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  std::cout << rank << ": " << device() << " " << generator() << " " << now << std::endl;
  if (rank == 0)
    for (std::string word; std::cin >> word;) std::cout << "word " << word << std::endl;
  MPI_Finalize();
}
