// The rank proclets: how many fit, their stacks and descriptors.
#include <mpi.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "proclet-sched/debug_table.h"
#include "proclet-sched/jump.h"
#include "proclet-sched/limits.h"

fgmpi::sched::DebugTable fgmpi_debug_table;

namespace fgmpi::sched {
namespace {

size_t main_thread_stack_size() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return size_t{64} << 20;
  return std::max<size_t>(limit.rlim_cur, size_t{64} << 10);
}

/// Two touched pages of stack and this descriptor are the least a rank costs.
Status check_room(uint32_t count) {
  constexpr int64_t kLeast = 9 * 1024;
  int64_t memory = memory_left();
  if (memory >= 0 && count * kLeast > memory)
    return error(
        MPI_ERR_NO_MEM,
        "%u ranks in one process need at least %lld MiB of memory, %lld MiB are available: at "
        "most %lld ranks would fit",
        count, static_cast<long long>(count * kLeast >> 20), static_cast<long long>(memory >> 20),
        static_cast<long long>(memory / kLeast));
  uint32_t fit =
      ranks_that_fit(address_space_left(), sizeof(Proclet), count, g_scheduler.options.stack_size);
  if (fit < count)
    return error(
        MPI_ERR_NO_MEM,
        "no address space for the stacks of %u ranks: at most %u ranks would fit; raise the limit "
        "on address space (ulimit -v) or lower FGMPI_STACK_SIZE",
        count, fit);
  return Status();
}

}  // namespace

char* stack_top(const Proclet* p) {
  return p->kind == Kind::kRank ? g_scheduler.stacks.top(p->index) : helper_stack_top(p);
}

bool stack_intact(const Proclet* p) {
  return p->kind == Kind::kRank ? g_scheduler.stacks.intact(p->index) : helper_stack_intact(p);
}

const Options& options() { return g_scheduler.options; }

void set_options(const Options& options) {
  g_scheduler.options = options;
  g_scheduler.options_given = true;
}

size_t default_stack_size(uint32_t count) {
  if (count <= 1) return main_thread_stack_size();
  if (count <= kLargeStacks) return size_t{1} << 20;
  return count <= kMediumStacks ? size_t{256} << 10 : size_t{64} << 10;
}

Status create_ranks(uint32_t count, void (*entry)(void*), void* argument) {
  FGMPI_CHECK(!g_scheduler.running && g_scheduler.live == 0 && count > 0);
  if (!g_scheduler.options_given) {
    g_scheduler.options = configured_options();
  }
  if (g_scheduler.ranks) {
    annotate::unmapped(g_scheduler.ranks, g_scheduler.count * sizeof(Proclet));
    munmap(g_scheduler.ranks, g_scheduler.count * sizeof(Proclet));
  }
  g_scheduler.ranks = nullptr;
  g_scheduler.count = 0;
  const size_t stack_size =
      g_scheduler.options.stack_size ? g_scheduler.options.stack_size : default_stack_size(count);
  FGMPI_TRY(check_room(count));
  FGMPI_TRY(g_scheduler.stacks.reserve(count, stack_size, "ranks"));
  void* memory = mmap(nullptr, count * sizeof(Proclet), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "no address space for the descriptors of %u ranks", count);
  annotate::holds_pointers(memory, count * sizeof(Proclet));
  g_scheduler.ranks = static_cast<Proclet*>(memory);
  g_scheduler.count = g_scheduler.live = count;
  fgmpi_debug_table.ranks = g_scheduler.ranks;
  fgmpi_debug_table.rank_count = count;
  g_scheduler.exit_status = 0;
  g_scheduler.ends.clear();
  g_scheduler.random = RandomSequence(g_scheduler.options.seed);
  g_hot.head = nullptr;
  g_hot.fifo = g_scheduler.options.policy == Options::kFifo;
  g_scheduler.shuffled.clear();
  for (uint32_t i = 0; i < count; ++i) {
    Proclet* p = new (g_scheduler.ranks + i) Proclet();
    p->index = i;
    p->entry = entry;
    p->argument = argument;
    p->stack_low = g_scheduler.stacks.low(i);
    p->stack_size = g_scheduler.stacks.stack_size();
    g_scheduler.stacks.install_guard(i);
    annotate::stack_created(p);
    append(p);
  }
  update_extras();
  return Status();
}

Proclet* rank_proclet(uint32_t index) {
  FGMPI_ASSERT(index < g_scheduler.count);
  Proclet* rank = g_scheduler.ranks + index;
  if (__builtin_expect(!g_scheduler.ends.empty(), 0))
    if (Proclet* end = end_of(rank)) return end;
  return rank;
}
uint32_t rank_count() { return g_scheduler.count; }
uint32_t live_ranks() { return g_scheduler.live; }

const char* guard_kind() {
  switch (g_scheduler.stacks.guard()) {
    case Guard::kGuardPages:
      return "guard pages";
    case Guard::kMprotect:
      return "mprotect";
    case Guard::kCanary:
      break;
  }
  return "canary";
}

Proclet* proclet_of_address(const void* address, bool* in_guard) {
  int64_t slot = g_scheduler.stacks.slot_of(address, in_guard);
  return slot >= 0 ? g_scheduler.ranks + slot : helper_of_address(address, in_guard);
}

}  // namespace fgmpi::sched
