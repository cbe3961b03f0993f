// FGMPI_HEAP=rank: the stack, the variables and the blocks of ranks that join a running process are in their slots, and
// fgmpi_memory_of_ranks() tells of them.
#include <mpi.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "memory_of.h"

namespace {

constexpr int kChildren = 5, kRounds = 4;
int g_variable = 3;
const int g_constant = 4;
std::vector<std::string> g_texts;

/// All that the library tells of the rank in whose memory the address lies.
Memory memory_with(const void* at) {
  for (uint32_t index = 0; index < 10000; ++index) {
    const char* reason = memory_of_ranks()(
        index, 1, [](uint32_t, const RankMemoryRange&, void*) {}, nullptr);
    if (reason) break;
    Memory memory = memory_of(index, 1);
    for (const OfRank& m : memory)
      if (at >= m.range.low && at < m.range.high) return memory;
  }
  check(false, "the memory of a rank is not told");
  std::abort();
}

void check_place(const Memory& memory, const void* at, size_t bytes, RankMemoryPart part,
                 const char* what) {
  const RankMemoryRange& range = range_of(memory, at, bytes, what);
  check(range.part == part, std::string(what) + ": another part");
}

[[gnu::noinline]] int use_stack(int depth) {
  volatile char bytes[1000];
  bytes[depth] = static_cast<char>(depth);
  return depth == 0 ? 0 : use_stack(depth - 1) + bytes[depth];
}

void check_all(const int& local, const char* mapped) {
  const Memory memory = memory_with(g_texts[0].data());
  check_place(memory, &local, sizeof local, RankMemoryPart::kStack, "a local variable");
  check_place(memory, &g_variable, sizeof g_variable, RankMemoryPart::kImage, "a variable");
  check_place(memory, &g_constant, sizeof g_constant, RankMemoryPart::kImage, "a constant");
  check_place(memory, reinterpret_cast<const void*>(&memory_with), 1, RankMemoryPart::kImage,
              "code");
  for (const std::string& text : g_texts)
    check_place(memory, text.data(), text.size(), RankMemoryPart::kHeap, "a text");
  check_place(memory, mapped, 1 << 20, RankMemoryPart::kMapping, "a mapping");
}

int run_child(MPI_Comm parent) {
  int local = 7;
  g_variable += g_rank;
  use_stack(100);
  for (int i = 0; i < 100; ++i)
    g_texts.push_back("a text that is longer than a string object " + std::to_string(i));
  auto* mapped = static_cast<char*>(
      mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  check(mapped != MAP_FAILED, "mmap");
  MPI_Barrier(MPI_COMM_WORLD);
  // Each look at the memory of a rank reads all mappings of the process.
  if (g_rank < 5) check_all(local, mapped);
  MPI_Barrier(MPI_COMM_WORLD);
  check(g_variable == 3 + g_rank && local == 7, "another child's variable");
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (parent != MPI_COMM_NULL) return run_child(parent);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "fgmpi_where", "here");
  for (int round = 0; round < kRounds; ++round) {
    // Later ranks take the slots of earlier ones.
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, round % 2 ? 10 * kChildren : kChildren, info, 0,
                   MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    if (g_rank < 5)
      check_place(memory_with(&round), &g_variable, sizeof g_variable, RankMemoryPart::kImage,
                  "a parent's variable");
    MPI_Comm_disconnect(&children);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
