// A program with an allocator of its own, which knows its memory by state of its own: what shared
// libraries allocate is freed by the program, and what the program allocates by libraries, in every
// image.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpitest.h"

static char pool[4 << 20];
static std::size_t used;
static bool of_pool(void* p) { return p >= pool && p < pool + sizeof pool; }

void* operator new(std::size_t size) {
  std::size_t bytes = (size + 15) / 16 * 16;
  if (size >= 256 || used + bytes > sizeof pool) {
    void* p = std::malloc(size);
    if (!p) throw std::bad_alloc();
    return p;
  }
  used += bytes;
  return pool + used - bytes;
}
void operator delete(void* p) noexcept {
  if (!of_pool(p)) std::free(p);  // aborts where it is another image's pool
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

static std::vector<std::string> kept = {
    "made by a constructor, before main, and longer than fits in line"};

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (int i = 0; i < 10; ++i) {
    std::ostringstream out;  // its buffer is made by the library
    out << "rank " << rank << " in round " << i << ", some more to outgrow the small string";
    std::string text = out.str();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    text += std::to_string(rank);
    kept.push_back(text.substr(0, 40));
    std::ifstream in("/proc/self/stat");
    std::string line;
    CHECK(std::getline(in, line));
    try {
      throw std::runtime_error("a message that the library copies: " + text);
    } catch (const std::exception& error) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK(std::string(error.what()).find(text) != std::string::npos);
    }
  }
  CHECK(kept.size() == 11 && kept[5].rfind("rank " + std::to_string(rank) + " in round 4", 0) == 0);
  kept.clear();
  return finish();
}
