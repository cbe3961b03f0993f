// The rank proclets: how many fit, their stacks and descriptors.
#include <mpi.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "base/count_words.h"
#include "base/counters.h"
#include "base/end_hooks.h"
#include "base/memory_use.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "proclet-sched/coroutine/identity.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/limits.h"
#include "proclet-sched/coroutine/packing.h"

fgmpi::sched::DebugTable fgmpi_debug_table;

namespace fgmpi::sched {
namespace {

/// The stack size where `ulimit -s` is unlimited.
constexpr size_t kUnlimitedStack = size_t{64} << 20;

size_t main_thread_stack_size() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return kUnlimitedStack;
  return std::max<size_t>(limit.rlim_cur, kLeastStack);
}

/// Bytes of page tables of a stack of which only the top is touched. One page of them maps 2 MiB,
/// where the kernel's pages have 4 KiB.
uint64_t page_tables(size_t stack_size) {
  const size_t page = machine_page_bytes();
  return std::min<uint64_t>(page, stack_size / (page / sizeof(uint64_t)));
}

/// Reserves stacks of the size that the setting gives. Without the setting, the stacks are made
/// smaller until they fit: some limits cannot be read beforehand (`ulimit -d`, strict
/// accounting of memory).
Status reserve_stacks(StackRegion* stacks, uint32_t count, const char* what) {
  const size_t wanted = g_scheduler.options.stack_size;
  // Page tables of few stacks need no twentieth of any memory: the files need not be read.
  constexpr uint32_t kFewStacks = 256;
  const int64_t memory = wanted || count <= kFewStacks ? -1 : memory_left();
  size_t size = wanted ? wanted : default_stack_size(count, address_space_left(), memory);
  Status reserved = stacks->reserve(count, size, what);
  while (!reserved.ok() && !wanted && size > kLeastStack) {
    size = std::max(size / 2, kLeastStack);
    reserved = stacks->reserve(count, size, what);
  }
  return reserved;
}

/// The stacks in `count` slots, the first of which is the first-th behind that of rank 0.
Status take_stacks(StackRegion* stacks, uint32_t first, uint32_t count) {
  StackPlaces places = g_scheduler.places;
  places.slots += first * places.stride;
  if (first != 0) places.in_file = false;
  const size_t wanted = g_scheduler.options.stack_size;
  const size_t most = page_down(places.end - 2 * guard_bytes() - places.record);
  if (wanted > most)
    return error(MPI_ERR_NO_MEM,
                 "FGMPI_STACK_SIZE: %zu KiB do not fit beside the heaps of so many ranks "
                 "(FGMPI_HEAP=rank); allowed are %zu KiB, or fewer ranks",
                 wanted >> 10, most >> 10);
  const size_t size =
      wanted ? wanted : std::min(default_stack_size(count, address_space_left(), -1), most);
  stacks->take(count, page_down(size) + places.record, places);
  return {};
}

/// How many descriptors to reserve: also for ranks that may join, where address space is not short.
/// Descriptors never move.
uint32_t room_for(uint32_t count) {
  constexpr uint64_t kPlenty = uint64_t{1} << 40;
  return address_space_left() > kPlenty && count < ~kMostAdded ? count + kMostAdded : count;
}

/// The region of a rank's stack, and its slot there.
StackRegion& stacks_of(uint32_t index, uint32_t* slot) {
  *slot = index;
  if (__builtin_expect(index < g_scheduler.created, 1)) return g_scheduler.stacks;
  auto after = std::upper_bound(g_scheduler.added.begin(), g_scheduler.added.end(), index,
                                [](uint32_t i, const AddedRanks& a) { return i < a.first; });
  FGMPI_CHECK(after != g_scheduler.added.begin());
  *slot = index - after[-1].first;
  return *after[-1].stacks;
}

/// Makes the proclet of a rank in its descriptor.
Proclet* make_rank(uint32_t index, StackRegion& stacks, uint32_t slot) {
  Proclet* p = new (g_scheduler.ranks + index) Proclet();
  p->index = index;
  p->slot = index < g_scheduler.created
                ? g_scheduler.places.first_slot + index
                : g_scheduler.places.added_slot + (index - g_scheduler.created);
  p->stack_low = stacks.low(slot);
  p->stack_size = stacks.stack_size();
  stacks.install_guard(slot);
  annotate::stack_created(p);
  return p;
}

/// Checks that memory suffices for the minimum of a rank: two touched pages of stack and
/// its descriptor, or what is left of them where stacks are packed.
Status check_room(uint32_t count) {
  const int64_t least =
      packing_is_asked_for() ? kPackedRankBytes : static_cast<int64_t>(2 * page_bytes() + 1024);
  // So much there is wherever a process has started. Reading how much takes a tenth of a
  // millisecond.
  constexpr int64_t kSurelyThere = int64_t{4} << 20;
  int64_t memory = count * least <= kSurelyThere ? -1 : memory_left();
  if (memory >= 0 && count * least > memory)
    return error(
        MPI_ERR_NO_MEM,
        "%s in one process would need at least %lld MiB of memory, %lld MiB are available: at "
        "most %s would fit",
        count_words(count, "rank").c_str(), static_cast<long long>(count * least >> 20),
        static_cast<long long>(memory >> 20),
        count_words(static_cast<uint64_t>(memory / least), "rank").c_str());
  uint32_t fit =
      ranks_that_fit(address_space_left(), sizeof(Proclet), count, g_scheduler.options.stack_size);
  if (fit < count)
    return error(
        MPI_ERR_NO_MEM,
        "no address space for the stacks of %s: at most %s would fit; raise the limit on address "
        "space (ulimit -v) or lower FGMPI_STACK_SIZE",
        count_words(count, "rank").c_str(), count_words(fit, "rank").c_str());
  return Status();
}

/// Descriptors lie between two pages that nothing can write to: an overrun of memory beside
/// them ends there.
size_t bytes_of_descriptors(uint32_t room) { return page_up(room * sizeof(Proclet)); }

void release_descriptors() {
  if (!g_scheduler.ranks) return;
  const size_t bytes = bytes_of_descriptors(g_scheduler.room);
  annotate::unmapped(g_scheduler.ranks, bytes);
  munmap(reinterpret_cast<char*>(g_scheduler.ranks) - page_bytes(), bytes + 2 * page_bytes());
  g_scheduler.ranks = nullptr;
}

Proclet* reserve_descriptors(uint32_t room) {
  const size_t bytes = bytes_of_descriptors(room), guard = page_bytes();
  void* memory = mmap(nullptr, bytes + 2 * guard, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* first = static_cast<char*>(memory) + guard;
  if (mprotect(first, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, bytes + 2 * guard);
    return nullptr;
  }
  annotate::holds_pointers(first, bytes);
  return reinterpret_cast<Proclet*>(first);
}

}  // namespace

int64_t rank_at(const Proclet* p) {
  const auto offset =
      reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(g_scheduler.ranks);
  if (!g_scheduler.ranks || offset >= g_scheduler.count * sizeof *p || offset % sizeof *p != 0)
    return -1;
  return static_cast<int64_t>(offset / sizeof *p);
}

bool caller_is_adopted() {
  return g_scheduler.created == 1 && g_scheduler.host_low &&
         g_scheduler.host_low == g_scheduler.stacks.low(0);
}

bool rank_is_sound(uint32_t index) {
  const Proclet& p = g_scheduler.ranks[index];
  if (p.index != index || p.kind != ProcletKind::kRank || p.state > ProcletState::kFinished)
    return false;
  // A rank that has left its stack is on another one, and so is an adopted caller.
  if (end_of(&p) || caller_is_adopted()) return true;
  if (index < g_scheduler.created)
    return p.stack_low == g_scheduler.stacks.low(index) &&
           p.stack_size == g_scheduler.stacks.stack_size();
  for (const AddedRanks& block : g_scheduler.added)
    if (index - block.first < block.count)
      return p.stack_low == block.stacks->low(index - block.first) &&
             p.stack_size == block.stacks->stack_size();
  return p.state == ProcletState::kFinished;  // a number that no rank has now
}

bool in_descriptor_guards(const void* address) {
  const auto low = reinterpret_cast<uintptr_t>(g_scheduler.ranks);
  const auto at = reinterpret_cast<uintptr_t>(address);
  const size_t guard = page_bytes();
  return low && (at - (low - guard) < guard ||
                 at - (low + bytes_of_descriptors(g_scheduler.room)) < guard);
}

char* stack_top(const Proclet* p) {
  if (p->kind != ProcletKind::kRank) return helper_stack_top(p);
  uint32_t slot;
  return stacks_of(p->index, &slot).top(slot);
}

bool stack_intact(const Proclet* p) {
  if (p->kind != ProcletKind::kRank) return helper_stack_intact(p);
  uint32_t slot;
  return stacks_of(p->index, &slot).intact(slot);
}

void discard_stack(const Proclet* rank) {
  uint32_t slot;
  stacks_of(rank->index, &slot).discard(slot);
}

const Options& options() { return g_scheduler.options; }

void set_options(const Options& options) {
  g_scheduler.options = options;
  g_scheduler.options_given = true;
}

void place_stacks(const StackPlaces& places) { g_scheduler.places = places; }

size_t default_stack_size(uint32_t count, uint64_t address_space, int64_t memory) {
  if (count <= 1) return main_thread_stack_size();
  constexpr size_t kMedium = size_t{1} << 20, kSmall = size_t{256} << 10;
  size_t size = count <= kMediumStacks ? kMedium : kSmall;
#ifndef FGMPI_SANITIZE  // its shadow memory is an eighth of a stack, and touched
  if (count <= kLargeStacks) size = std::clamp(main_thread_stack_size(), kMedium, kUnlimitedStack);
#endif
  auto fits = [&] {
    return address_space / 2 / count >= size + guard_bytes() &&
           (memory < 0 || count * page_tables(size) <= static_cast<uint64_t>(memory) / 20);
  };
  while (size > kLeastStack && !fits()) size = std::max(size / 2, kLeastStack);
  return size;
}

Status create_ranks(uint32_t count, void (*entry)(void*), void* argument) {
  FGMPI_CHECK(!g_scheduler.running && g_scheduler.live == 0 && count > 0);
  if (!g_scheduler.options_given) {
    g_scheduler.options = configured_options();
  }
  end_packing();
  release_descriptors();
  g_scheduler.count = g_scheduler.created = g_scheduler.room = 0;
  g_scheduler.added.clear();
  FGMPI_TRY(check_room(count));
  FGMPI_TRY(g_scheduler.places.slots ? take_stacks(&g_scheduler.stacks, 0, count)
                                     : reserve_stacks(&g_scheduler.stacks, count, "ranks"));
  const uint32_t room = room_for(count);
  Proclet* descriptors = reserve_descriptors(room);
  if (!descriptors)
    return error(MPI_ERR_NO_MEM, "no address space for the descriptors of %s",
                 count_words(count, "rank").c_str());
  g_scheduler.ranks = descriptors;
  set_describe_caller(describe_caller);
  g_scheduler.count = g_scheduler.created = g_scheduler.live = count;
  g_scheduler.room = room;
  fgmpi_debug_table.ranks = g_scheduler.ranks;
  fgmpi_debug_table.rank_count = count;
  g_scheduler.exit_status = 0;
  g_scheduler.ends.clear();
  g_scheduler.random = RandomSequence(g_scheduler.options.seed);
  g_hot.head = nullptr;
  g_hot.fifo = g_scheduler.options.policy == Options::kFifo;
  g_scheduler.shuffled.clear();
  for (uint32_t i = 0; i < count; ++i) {
    Proclet* p = make_rank(i, g_scheduler.stacks, i);
    p->entry = entry;
    p->argument = argument;
    append(p);
  }
  update_extras();
  begin_packing(count);
  return Status();
}

std::vector<AddedRanks>::iterator find_room_for_ranks(uint32_t count, uint32_t* first) {
  // The first gap that is large enough, or behind the last block.
  auto at = g_scheduler.added.begin();
  *first = g_scheduler.created;
  for (; at != g_scheduler.added.end() && at->first - *first < count; ++at)
    *first = at->first + at->count;
  return at;
}

Status add_ranks(uint32_t count, void (*entry)(void*), void* argument, uint32_t* first) {
  FGMPI_CHECK(g_scheduler.ranks && count > 0);
  uint32_t from;
  const auto at = find_room_for_ranks(count, &from);
  if (g_scheduler.room - from < count)
    return error(MPI_ERR_NO_MEM,
                 "%s cannot join the %u of this process: %u would fit; allowed are %u spawned "
                 "ranks a process at a time%s",
                 count_words(count, "rank").c_str(), from, g_scheduler.room - from, kMostAdded,
                 g_scheduler.room == g_scheduler.created
                     ? ", none where address space is limited (ulimit -v)"
                     : "");
  FGMPI_TRY(check_room(count));
  AddedRanks block{from, count, std::make_unique<StackRegion>()};
  const StackPlaces& places = g_scheduler.places;
  const uint32_t slot = places.added_slot + (from - g_scheduler.created);
  FGMPI_TRY(places.slots && places.extend(slot + count)
                ? take_stacks(block.stacks.get(), slot - places.first_slot, count)
                : reserve_stacks(block.stacks.get(), count, "spawned ranks"));
  for (uint32_t i = 0; i < count; ++i) {
    Proclet* p = make_rank(from + i, *block.stacks, i);
    p->entry = entry;
    p->argument = argument;
    p->state = ProcletState::kFinished;
  }
  if (block.stacks->guard() == StackGuard::kCanary) require_canary_checks();
  g_scheduler.added.insert(at, std::move(block));
  g_scheduler.count = std::max(g_scheduler.count, from + count);
  fgmpi_debug_table.rank_count = g_scheduler.count;
  *first = from;
  return {};
}

namespace {
std::vector<AddedRanks>::iterator find_added(uint32_t first) {
  auto at = std::find_if(g_scheduler.added.begin(), g_scheduler.added.end(),
                         [&](const AddedRanks& a) { return a.first == first; });
  FGMPI_CHECK(at != g_scheduler.added.end());
  return at;
}
}  // namespace

void start_added_ranks(uint32_t first) {
  const AddedRanks& block = *find_added(first);
  g_scheduler.live += block.count;
  for (uint32_t i = 0; i < block.count; ++i) {
    Proclet* p = g_scheduler.ranks + block.first + i;
    p->state = ProcletState::kParked;
    ready(p);
  }
}

void remove_ranks(uint32_t first) {
  auto at = find_added(first);
  for (uint32_t i = 0; i < at->count; ++i) {
    Proclet* p = g_scheduler.ranks + first + i;
    FGMPI_CHECK(p->state == ProcletState::kFinished);
    p->stack_low = nullptr;
    p->stack_size = 0;
  }
  g_scheduler.added.erase(at);
}

Proclet* rank_proclet(uint32_t index) {
  FGMPI_ASSERT(index < g_scheduler.count);
  Proclet* rank = g_scheduler.ranks + index;
  if (__builtin_expect(!g_scheduler.ends.empty(), 0))
    if (Proclet* end = end_of(rank)) return end;
  return rank;
}
uint32_t most_ranks() { return g_scheduler.room; }
uint32_t rank_count() { return g_scheduler.count; }
uint32_t live_ranks() { return g_scheduler.live; }

const char* guard_kind() {
  switch (g_scheduler.stacks.guard()) {
    case StackGuard::kGuardPages:
      return "guard pages";
    case StackGuard::kMprotect:
      return "mprotect";
    case StackGuard::kCanary:
      break;
  }
  return "canary";
}

Proclet* proclet_of_address(const void* address, bool* in_guard) {
  int64_t slot = g_scheduler.stacks.slot_of(address, in_guard);
  if (slot >= 0) return g_scheduler.ranks + slot;
  for (const AddedRanks& block : g_scheduler.added)
    if ((slot = block.stacks->slot_of(address, in_guard)) >= 0)
      return g_scheduler.ranks + block.first + slot;
  return helper_of_address(address, in_guard);
}

namespace {
Remembered g_written;

uint64_t written_on_stacks() {
  uint64_t bytes = g_scheduler.stacks.written() + written_by_helpers();
  for (const AddedRanks& added : g_scheduler.added) bytes += added.stacks->written();
  return bytes;
}

[[maybe_unused]] const bool g_counter_provided =
    (counters::provide(counters::kMemoryStacks,
                       [](const void*) { return g_written.get(written_on_stacks); }),
     true);
}  // namespace

}  // namespace fgmpi::sched
