// Heaps of ranks: what the library tells libfgmpi-heap.so, and asks it.
#include "privatize/load/rank_heaps.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error_line.h"
#include "base/modules.h"
#include "base/settings.h"
#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "privatize/libc/environment_strings.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/source_lines.h"
#include "privatize/load/rank_leaks.h"
#include "privatize/load/saved_plugins.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/coroutine/stacks.h"

#pragma weak fgmpi_heap_hooks

fgmpi::heap::HeapsTable fgmpi_heap_table;

namespace fgmpi::privatize {

namespace {

const heap::HeapHooks* g_hooks = nullptr;
PresumedRanks g_presumed = {};
uint32_t g_own_ranks = 0;
heap::SlotPlaces g_places;
/// Ranks of other processes that are here: number in this process, and slot.
std::vector<std::pair<uint32_t, uint32_t>>& g_visitors =
    *new std::vector<std::pair<uint32_t, uint32_t>>;

/// The number by which libfgmpi-heap knows the rank (heap::Ranks).
uint32_t slot_number(uint32_t index) {
  if (g_places.file < 0) return index;
  if (index < g_own_ranks) return static_cast<uint32_t>(g_presumed.first) + index;
  for (const auto& [rank, slot] : g_visitors)
    if (rank == index) return slot;
  return static_cast<uint32_t>(g_presumed.total) + (index - g_own_ranks);  // a rank that was added
}

/// The rank of this process that has the slot; -1: none.
int64_t rank_with_slot(int64_t slot) {
  if (g_places.file < 0 || slot < 0) return slot;
  const uint64_t own = static_cast<uint64_t>(slot) - g_presumed.first;
  if (own < g_own_ranks) return static_cast<int64_t>(own);
  const uint64_t added = static_cast<uint64_t>(slot) - g_presumed.total;
  if (added < sched::kMostAdded) return static_cast<int64_t>(g_own_ranks + added);
  for (const auto& [rank, number] : g_visitors)
    if (number == slot) return rank;
  return -1;
}

/// The values of FGMPI_HEAP, in the order of the table of settings.
enum class HeapOf : uint8_t { kProcess, kRank };
static_assert(settings::has_choices(settings::kHeap, "process|rank"));

std::string place_words(const void* place) {
  char line[512];
  // The call is before the place to which it returns. Lines are those of the first copy.
  const uintptr_t at = address_in_first_image(reinterpret_cast<uintptr_t>(place) - 1);
  if (find_source_line(at, line, sizeof line)) return line;
  const auto module = module_at(reinterpret_cast<const void*>(at));
  if (module)
    std::snprintf(line, sizeof line, "%s+%#zx", module->path,
                  static_cast<size_t>(at - module->start));
  else
    std::snprintf(line, sizeof line, "%p", place);
  return line;
}

void refused(uint32_t slot, uint64_t bytes, uint64_t taken, const heap::Ranks::TakingPlace* sites,
             size_t count) {
  if (!settings::is_set(settings::kRankMemory)) return;
  const uint64_t rank = g_places.file < 0 ? first_world_rank() + uint64_t{slot} : slot;
  std::string words =
      "rank " + std::to_string(rank) + ": has taken " + std::to_string(taken) +
      " bytes and asks for " + std::to_string(bytes) +
      " more; allowed are FGMPI_RANK_MEMORY=" + settings::text(settings::kRankMemory);
  for (size_t i = 0; i < count; ++i)
    words += (i == 0 ? "; most was taken at " : ", ") + place_words(sites[i].place) + " (" +
             std::to_string(sites[i].bytes) + " bytes)";
  write_error_line(words);
  end_process(1);
}

/// Any thread.
bool is_library_code(const void* place) {
  const uintptr_t at = address_in_first_image(reinterpret_cast<uintptr_t>(place) - 1);
  const auto module = module_at(reinterpret_cast<const void*>(at));
  if (!module) return false;
  const std::string_view file = file_name(module->path);
  for (const std::string_view library :
       {"libc.so.", "libstdc++.so.", "libgfortran.so.", "libgcc_s", "libmpi", "libfgmpi"})
    if (file.starts_with(library)) return true;
  return is_of_system_header(at);
}

/// The slot of the calling thread's rank. Any thread.
int64_t number_of_calling_rank() {
  if (on_scheduler_thread() && !on_proclet()) return -1;
  const sched::Proclet* rank = sched::rank_of_thread();
  return rank && rank->kind == sched::ProcletKind::kRank ? int64_t{rank->slot} : -1;
}

}  // namespace

void begin_threads_of_heaps() {
  if (g_hooks) g_hooks->begin_threads();
}

bool rank_heaps_are_wanted() {
  return settings::choice<HeapOf>(settings::kHeap) == HeapOf::kRank ||
         settings::is_set(settings::kRankMemory);
}

bool rank_slots_are_files() { return rank_heaps_are_wanted() && environment::lets_ranks_move(); }

bool rank_heaps_are_named() {
  const char* heap = environment::text(settings::kRecords[settings::kHeap].name);
  return (heap && std::string_view(heap) == "rank") ||
         environment::text(settings::kRecords[settings::kRankMemory].name);
}

Status begin_rank_heaps(uint32_t ranks, size_t record_bytes) {
  if (!&fgmpi_heap_hooks)
    return error(
        MPI_ERR_ARG,
        "FGMPI_HEAP=rank, FGMPI_RANK_MEMORY: libfgmpi-heap.so is not loaded; allowed for a program "
        "that mpiexec starts, in whose environment they are, or that is linked with this library");
  if (!in_same_module(reinterpret_cast<const void*>(&malloc),
                      reinterpret_cast<const void*>(&fgmpi_heap_hooks)))
    return error(
        MPI_ERR_ARG,
        "FGMPI_HEAP=rank: the program, or a library that is loaded before it, has a malloc "
        "of its own; allowed is one that uses the C library's");
  heap::Ranks all{};
  all.running = sched::running_cell();
  all.index_at = offsetof(sched::Proclet, slot);
  all.kind_at = offsetof(sched::Proclet, kind);
  const sched::RunningCells cells = sched::running_cells();
  all.threads_enabled = cells.enabled;
  all.inside = cells.inside;
  all.user = cells.user;
  all.outside_at = cells.outside_at;
  all.ranks = ranks;
  const PresumedRanks presumed = presumed_ranks(ranks);
  all.first = g_presumed.first = presumed.first;
  all.total = g_presumed.total = presumed.total;
  if (g_images.in_slots()) {
    all.image_bytes = g_images.image_bytes();
    all.image_alignment = g_images.alignment();
  }
  if (settings::is_set(settings::kRankMemory))
    all.limit = static_cast<uint64_t>(settings::number(settings::kRankMemory));
  all.records_blocks = leaks_are_wanted();
  all.in_file = rank_slots_are_files();
  g_own_ranks = ranks;
  if (all.in_file && environment::text(environment::kCheckpointFolder))
    return error(
        MPI_ERR_ARG,
        "FGMPI_BALANCE=on: not with -checkpoint: the child that saves ranks would not have "
        "a copy of their memory; allowed is one of both");
  all.refused = refused;
  all.rank_of_thread = number_of_calling_rank;
  all.is_library_code = is_library_code;
  if (all.in_file) all.bring_home = [] { return bring_home("memory of its own (mmap, mprotect)"); };
  heap::SlotPlaces& places = g_places;
  if (const char* reason = fgmpi_heap_hooks()->attach(all, &places))
    return error(MPI_ERR_NO_MEM, "%s", reason);
  g_hooks = fgmpi_heap_hooks();
  fgmpi_heap_table = g_hooks->table();
  const bool saves = environment::text(environment::kCheckpointFolder);
  if (all.in_file || saves) {
    record_descriptors(ranks);
    keep_environment_strings();
  }
  if (saves) plugins::record_modules_of_start();
  const auto first_slot = static_cast<uint32_t>(all.in_file ? presumed.first : 0);
  const auto added_slot = static_cast<uint32_t>(all.in_file ? presumed.total : ranks);
  sched::place_stacks({places.slots, places.stride, places.stacks_end, record_bytes, first_slot,
                       added_slot, all.in_file, g_hooks->add_slots});
  if (!g_images.in_slots()) return {};
  return g_images.move_to_slots(reinterpret_cast<uintptr_t>(places.slots) + places.images,
                                places.stride);
}

Status check_rank_heaps(uint64_t first, uint64_t total) {
  if (!g_hooks || (first == g_presumed.first && total == g_presumed.total)) return {};
  return error(MPI_ERR_OTHER,
               "FGMPI_HEAP=rank: this process has the ranks from %llu on of %llu, where its start "
               "led to %llu of %llu; allowed are numbers of ranks that mpiexec is given (-n with "
               "-nfg or -ranks for each program)",
               static_cast<unsigned long long>(first), static_cast<unsigned long long>(total),
               static_cast<unsigned long long>(g_presumed.first),
               static_cast<unsigned long long>(g_presumed.total));
}

void* allocate_in_slot_of(const void* object, size_t bytes) {
  const int64_t rank = rank_of_slot(object);
  return rank < 0 ? std::malloc(bytes)
                  : g_hooks->allocate(slot_number(static_cast<uint32_t>(rank)), bytes);
}

void* map_in_slot(uint32_t index, size_t bytes, size_t alignment) {
  return g_hooks ? g_hooks->map_pages(slot_number(index), bytes, alignment) : nullptr;
}

void unmap_in_slot(uint32_t index, void* at, size_t bytes) {
  g_hooks->unmap_pages(slot_number(index), at, bytes);
}

bool find_other_mapping(uint32_t index, const void* from, heap::MemoryRange* range) {
  return g_hooks && g_hooks->find_other_mapping(slot_number(index), from, range);
}
void add_other_mapping(uint32_t index, const void* at, size_t bytes) {
  g_hooks->add_other_mapping(slot_number(index), at, bytes);
}

bool ranks_have_heaps() { return g_hooks != nullptr; }

heap::HeapUse heap_use_of(uint32_t index) {
  return g_hooks ? g_hooks->use_of(slot_number(index)) : heap::HeapUse();
}

void visit_leaks_of(uint32_t index, const std::vector<heap::MemoryRange>& roots,
                    void (*visit)(const heap::LeakedBlocks& leak)) {
  const auto call = [](const heap::LeakedBlocks& leak, void* function) {
    (*static_cast<void (**)(const heap::LeakedBlocks&)>(function))(leak);
  };
  if (g_hooks) g_hooks->find_leaks(slot_number(index), roots.data(), roots.size(), call, &visit);
}

int64_t rank_of_slot(const void* address) {
  return g_hooks ? rank_with_slot(g_hooks->owner_of(address)) : -1;
}
int64_t rank_for(const void* place) {
  return g_hooks ? rank_with_slot(g_hooks->rank_for(place)) : -1;
}
MemoryForRank::MemoryForRank() { g_hooks->begin_for_rank(); }
MemoryForRank::~MemoryForRank() { g_hooks->end_for_rank(); }

const heap::SlotPlaces& slot_places() { return g_places; }
char* slot_of_rank(uint32_t index) {
  const uint32_t slot = slot_number(index);
  const int64_t first = g_places.file < 0 ? 0 : static_cast<int64_t>(g_presumed.first);
  return g_places.slots + (slot - first) * static_cast<int64_t>(g_places.stride);
}
void add_slot_of_visitor(uint32_t index, uint64_t world_rank) {
  g_visitors.emplace_back(index, static_cast<uint32_t>(world_rank));
}
void forget_slot_of_visitor(uint32_t index) {
  std::erase_if(g_visitors, [index](const auto& visitor) { return visitor.first == index; });
}
bool map_slots_of_process(int file, uint64_t first, uint32_t count) {
  return g_hooks->map_slots(file, first, count);
}
bool has_slot_in_file(uint32_t index) {
  return g_places.file >= 0 && slot_number(index) < g_presumed.total;
}
void lock_heap_for_fork(const sched::Proclet* rank) { g_hooks->begin_fork(rank->slot); }
void unlock_heap_after_fork(const sched::Proclet* rank) { g_hooks->end_fork(rank->slot); }
bool has_protected_memory(uint32_t index) { return g_hooks->is_protected(slot_number(index)); }

void visit_heap_memory(uint32_t index,
                       void (*visit)(const heap::MemoryRange& range, bool is_mapping, void* data),
                       void* data) {
  g_hooks->visit_memory(slot_number(index), visit, data);
}

int64_t rank_of_heap_end(const void* address) {
  if (!g_hooks) return -1;
  const int64_t before =
      g_hooks->owner_of(static_cast<const char*>(address) - sched::guard_bytes());
  return before != g_hooks->owner_of(address) ? rank_with_slot(before) : -1;
}

void end_rank_heap(uint32_t index) {
  if (g_hooks) g_hooks->rank_ends(slot_number(index));
}

}  // namespace fgmpi::privatize
