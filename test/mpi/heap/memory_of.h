// What the library tells of the memory of ranks, for tests.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../../include/fgmpi.h"
#include "../../../src/base/rank_memory.h"

using fgmpi::RankMemoryPart;
using fgmpi::RankMemoryRange;

namespace {

int g_rank;

void check(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "rank %d: %s\n", g_rank, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct OfRank {
  uint32_t index;
  RankMemoryRange range;
};
using Memory = std::vector<OfRank>;

decltype(&fgmpi_memory_of_ranks) memory_of_ranks() {
  static auto* const function = reinterpret_cast<decltype(&fgmpi_memory_of_ranks)>(
      dlsym(RTLD_DEFAULT, "fgmpi_memory_of_ranks"));
  return function;
}

Memory memory_of(uint32_t first, uint32_t count) {
  Memory memory;
  const char* reason = memory_of_ranks()(
      first, count,
      [](uint32_t index, const RankMemoryRange& range, void* data) {
        static_cast<Memory*>(data)->push_back({index, range});
      },
      &memory);
  check(!reason, reason ? reason : "");
  return memory;
}

/// The range that has all of these bytes.
const RankMemoryRange& range_of(const Memory& memory, const void* at, size_t bytes,
                                const char* what) {
  for (const OfRank& m : memory)
    if (at >= m.range.low && static_cast<const char*>(at) + bytes <= m.range.high) return m.range;
  check(false, std::string(what) + " is in no range");
  std::abort();
}

}  // namespace
