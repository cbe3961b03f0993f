// Random numbers of C++, which may come from an instruction, and of the kernel, which guard stored pointers; iostreams read
// standard input.
#include <mpi.h>
#include <setjmp.h>
#include <sys/auxv.h>

#include <chrono>
#include <cstring>
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
  unsigned long words[2];
  std::memcpy(words, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), sizeof words);
  jmp_buf place;
  (void)setjmp(place);
  unsigned long sum = 0;
  for (size_t i = 0; i < 8; ++i) {  // the registers, of which some are combined with a random word
    unsigned long word;
    std::memcpy(&word, reinterpret_cast<const char*>(&place) + i * sizeof word, sizeof word);
    sum = sum * 33 + word;
  }
  std::cout << rank << ": " << words[0] << " " << words[1] << " " << sum << std::endl;
  if (rank == 0)
    for (std::string word; std::cin >> word;) std::cout << "word " << word << std::endl;
  MPI_Finalize();
}
