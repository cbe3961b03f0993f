// Leaks from within code of libraries are at the line that has called it, also where nothing is inlined; memory that cannot be read
// is passed over. For leak_lines.sh, which knows the lines by their comments.
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Node {
  std::shared_ptr<Node> other;
  std::vector<double> values;
};

void leak_in_headers() {
  auto one = std::make_shared<Node>(), two = std::make_shared<Node>();  // leaked: a cycle
  one->other = two;
  two->other = one;
  one->values.resize(1000);                                           // leaked: a vector
  auto* names = new std::map<int, std::string>;                       // leaked: a map
  (*names)[1] = "a text that is longer than a string object itself";  // leaked: what it holds
}

void leak_in_c_library() {
  char* line = nullptr;
  size_t room = 0;
  FILE* file = std::fopen("/proc/self/status", "r");
  if (!file) std::exit(2);
  while (getline(&line, &room, file) > 0) continue;  // leaked: a line
  std::fclose(file);
}

/// Blocks and mappings of which the program has protected pages, and a mapping of far more than it uses.
void hold_behind_guards() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  static char *mapped, *block, *sparse;
  constexpr size_t kSparse = size_t{64} << 30;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  mapped = static_cast<char*>(mmap(nullptr, 9 * page, PROT_READ | PROT_WRITE, flags, -1, 0));
  block = static_cast<char*>(std::aligned_alloc(page, 3 * page));
  sparse = static_cast<char*>(mmap(nullptr, kSparse, PROT_READ | PROT_WRITE, flags, -1, 0));
  if (mapped == MAP_FAILED || sparse == MAP_FAILED || !block) std::exit(3);
  *reinterpret_cast<void**>(mapped + 5 * page) = std::malloc(11);
  *reinterpret_cast<void**>(block + 2 * page) = std::malloc(22);
  *reinterpret_cast<void**>(sparse + kSparse / 2) = std::malloc(33);
  if (mprotect(mapped + 4 * page, page, PROT_NONE) != 0 || mprotect(block, page, PROT_NONE) != 0)
    std::exit(4);
}

/// What calls have left on the stack is no pointer of the program.
int overwrite(int depth) {
  volatile char bytes[4096] = {};
  return depth ? overwrite(depth - 1) + bytes[depth] : bytes[0];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  hold_behind_guards();
  if (argc > 1) leak_in_headers();
  if (argc > 1) leak_in_c_library();
  const int none = overwrite(5);
  MPI_Finalize();
  return none;
}
