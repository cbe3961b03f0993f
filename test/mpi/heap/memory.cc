// fgmpi_memory_of_ranks(): what a rank's program uses is in the ranges that it tells, with its protection; no other rank's is.
#include <mpi.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "memory_of.h"

namespace {

int g_variable = 3;
const int g_constant = 4;
std::list<std::string> g_texts;

void check_place(const Memory& memory, const void* at, size_t bytes, RankMemoryPart part,
                 const char* what) {
  const RankMemoryRange& range = range_of(memory, at, bytes, what);
  check(range.part == part, std::string(what) + ": another part");
  check((range.protection & PROT_READ) != 0, std::string(what) + ": not readable");
}

void check_order(const Memory& memory, uint32_t first, uint32_t count) {
  const char* end = nullptr;
  for (const OfRank& m : memory) {
    check(m.index >= first && m.index < first + count, "memory of another rank");
    check(m.range.low >= end && m.range.high > m.range.low, "ranges are not in order");
    check((reinterpret_cast<uintptr_t>(m.range.low) | reinterpret_cast<uintptr_t>(m.range.high)) %
                  4096 ==
              0,
          "no whole pages");
    end = m.range.high;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int local = 5, collocated, start;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPIX_Get_collocated_size(&collocated);
  MPIX_Get_collocated_startrank(&start);
  const char* heap = std::getenv("FGMPI_HEAP");
  if (!heap || std::strcmp(heap, "rank") != 0) {
    check(memory_of_ranks()(0, 1, nullptr, nullptr) != nullptr, "ranks have memory of their own");
    MPI_Finalize();
    return 0;
  }
  auto* small = static_cast<char*>(std::malloc(100));
  auto* large = static_cast<char*>(std::malloc(3000000));
  auto* mapped = static_cast<char*>(
      mmap(nullptr, 5 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  check(small && large && mapped != MAP_FAILED, "no memory");
  constexpr size_t kNoAccess = 1 << 20;
  check(mprotect(mapped + kNoAccess, kNoAccess, PROT_NONE) == 0, "mprotect");
  for (int i = 0; i < 1000; ++i)
    g_texts.push_back("a text that is longer than a string object " + std::to_string(i));
  const auto index = static_cast<uint32_t>(g_rank - start);

  // Others wait or run meanwhile, whatever their order.
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const Memory memory = memory_of(index, 1);
    check_order(memory, index, 1);
    check_place(memory, &local, sizeof local, RankMemoryPart::kStack, "a local variable");
    check_place(memory, &g_variable, sizeof g_variable, RankMemoryPart::kImage, "a variable");
    check_place(memory, &g_constant, sizeof g_constant, RankMemoryPart::kImage, "a constant");
    check_place(memory, reinterpret_cast<const void*>(&memory_of), 1, RankMemoryPart::kImage,
                "code");
    check_place(memory, small, 100, RankMemoryPart::kHeap, "a small block");
    check_place(memory, large, 3000000, RankMemoryPart::kHeap, "a large block");
    for (const std::string& text : g_texts)
      check_place(memory, text.data(), text.size(), RankMemoryPart::kHeap, "a text");
    check_place(memory, mapped, kNoAccess, RankMemoryPart::kMapping, "a mapping");
    check_place(memory, mapped + 2 * kNoAccess, 3 * kNoAccess, RankMemoryPart::kMapping,
                "the rest of a mapping");
    check(range_of(memory, mapped + kNoAccess, kNoAccess, "the middle").protection == PROT_NONE,
          "the middle is accessible");
  }

  // By one call for all ranks of the process they are the same ranges as by a call for each, which waits meanwhile.
  if (index == 0) {
    const auto count = static_cast<uint32_t>(collocated);
    const Memory all = memory_of(0, count);
    check_order(all, 0, count);
    for (uint32_t i = 1; i < count; ++i) {
      size_t found = 0;
      for (const OfRank& m : memory_of(i, 1)) {
        const RankMemoryRange& same =
            range_of(all, m.range.low, static_cast<size_t>(m.range.high - m.range.low), "a range");
        check(same.part == m.range.part && same.protection == m.range.protection, "another range");
        ++found;
      }
      check(found >= 3, "too few ranges");
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
