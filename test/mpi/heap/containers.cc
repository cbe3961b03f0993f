// FGMPI_HEAP=rank in C++: containers, strings that C++'s library grows, streams, exceptions, the global locale, and
// threads that allocate, and free what the rank has allocated.
#include <mpi.h>

#include <cstdio>
#include <locale>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

std::string g_long;  // a global of each rank, whose memory is the rank's

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

long fill(int rank) {
  std::map<std::string, std::vector<int>> map;
  for (int i = 0; i < 500; ++i)
    map["a key that is too long to stay in place " + std::to_string(i % 97)].push_back(rank + i);
  std::unordered_map<int, std::unique_ptr<std::string>> table;
  for (int i = 0; i < 500; ++i)
    table[i * 7919] = std::make_unique<std::string>(static_cast<size_t>(i), 'x');
  std::ostringstream out;
  for (const auto& [key, values] : map) out << key << values.size();
  try {
    map.at("none");
  } catch (const std::out_of_range& e) {
    out << e.what();
  }
  struct alignas(128) Wide {
    double values[16];
  };
  const auto wide = std::make_unique<Wide>();
  check(reinterpret_cast<uintptr_t>(wide.get()) % 128 == 0, "operator new: not aligned");
  return static_cast<long>(out.str().size());
}

}  // namespace

int main(int argc, char** argv) {
  int level, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::locale::global(std::locale::classic());
  const long first = fill(rank);
  for (int round = 0; round < 5; ++round) {
    g_long += std::string(100, static_cast<char>('a' + round));
    MPI_Barrier(MPI_COMM_WORLD);
    check(fill(rank) == first, "another result");
    auto* given = new std::vector<std::string>(50, std::string(60, 'y'));
    std::string* made = nullptr;
    std::thread([&] {
      delete given;
      made = new std::string(1000, 'z');
      fill(1);
    }).join();
    check(made->size() == 1000, "a string of a thread");
    delete made;
  }
  check(g_long.size() == 500 && g_long[499] == 'e', "a global string");
  MPI_Finalize();
  return 0;
}
