// Heaps of ranks: what the library tells libfgmpi-heap.so, and asks it.
#include "privatize/load/rank_heaps.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error_line.h"
#include "base/modules.h"
#include "base/settings.h"
#include "privatize/internal.h"
#include "privatize/libc/source_lines.h"

#pragma weak fgmpi_heap_hooks

fgmpi::heap::HeapsTable fgmpi_heap_table;

namespace fgmpi::privatize {

namespace {

const heap::HeapHooks* g_hooks = nullptr;

/// The values of FGMPI_HEAP, in the order of the table of settings.
enum class HeapOf : uint8_t { kProcess, kRank };
static_assert(settings::has_choices(settings::kHeap, "process|rank"));

std::string place_words(const void* place) {
  char line[512];
  // The call is before the place to which it returns. Lines are those of the first copy.
  const uintptr_t at = address_in_first_image(reinterpret_cast<uintptr_t>(place) - 1);
  if (find_source_line(at, line, sizeof line)) return line;
  std::snprintf(line, sizeof line, "%p", place);
  return line;
}

void refused(uint32_t index, uint64_t bytes, uint64_t taken, const heap::Ranks::TakingPlace* sites,
             size_t count) {
  if (!settings::is_set(settings::kRankMemory)) return;
  std::string words =
      "rank " + std::to_string(first_world_rank() + index) + ": has taken " +
      std::to_string(taken) + " bytes and asks for " + std::to_string(bytes) +
      " more; allowed are FGMPI_RANK_MEMORY=" + settings::text(settings::kRankMemory);
  for (size_t i = 0; i < count; ++i)
    words += (i == 0 ? "; most was taken at " : ", ") + place_words(sites[i].place) + " (" +
             std::to_string(sites[i].bytes) + " bytes)";
  write_error_line(words);
  end_process(1);
}

}  // namespace

Status begin_rank_heaps(uint32_t ranks) {
  const bool limited = settings::is_set(settings::kRankMemory);
  if (settings::choice<HeapOf>(settings::kHeap) != HeapOf::kRank && !limited) return {};
  if (!&fgmpi_heap_hooks)
    return error(
        MPI_ERR_ARG,
        "FGMPI_HEAP=rank, FGMPI_RANK_MEMORY: allowed for a program that mpiexec starts, in "
        "whose environment they are");
  if (!in_same_module(reinterpret_cast<const void*>(&malloc),
                      reinterpret_cast<const void*>(&fgmpi_heap_hooks)))
    return error(
        MPI_ERR_ARG,
        "FGMPI_HEAP=rank: the program, or a library that is loaded before it, has a malloc "
        "of its own; allowed is one that uses the C library's");
  heap::Ranks all{};
  all.running = sched::running_cell();
  all.index_at = offsetof(sched::Proclet, index);
  all.kind_at = offsetof(sched::Proclet, kind);
  all.ranks = ranks;
  const PresumedProcess me = presumed_process();
  all.process = static_cast<uint32_t>(me.number);
  all.processes = static_cast<uint32_t>(std::max(me.count, me.number + 1));
  all.limit = limited ? static_cast<uint64_t>(settings::number(settings::kRankMemory)) : 0;
  all.refused = refused;
  if (const char* reason = fgmpi_heap_hooks()->attach(all))
    return error(MPI_ERR_NO_MEM, "%s", reason);
  g_hooks = fgmpi_heap_hooks();
  fgmpi_heap_table = g_hooks->table();
  return {};
}

bool ranks_have_heaps() { return g_hooks != nullptr; }

heap::HeapUse heap_use_of(uint32_t index) {
  return g_hooks ? g_hooks->use_of(index) : heap::HeapUse();
}

int64_t heap_owner_of(const void* address) { return g_hooks ? g_hooks->owner_of(address) : -1; }

void end_rank_heap(uint32_t index) {
  if (g_hooks) g_hooks->rank_ends(index);
}

}  // namespace fgmpi::privatize
