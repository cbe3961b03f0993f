// Helper coroutines: made on demand, pooled, and freed when they have not been needed for a while.
//
// Helpers come in blocks and are numbered through: block = number / kBlock. A helper that has done
// its work keeps its stack and waits, idle, in its block's list (through Proclet::next) for the
// next spawn_helper(). That uses the first block with an idle helper, so helpers in use gather in
// the first blocks, and the others can be freed. trim_helpers() frees the stacks' pages of helpers
// that were idle since its last call, and whole blocks at the end.
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include <mpi.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/error_line.h"
#include "base/reserve.h"
#include "proclet-sched/coroutine/annotate.h"
#include "proclet-sched/coroutine/internal.h"
#include "proclet-sched/coroutine/last_call.h"
#include "proclet-sched/coroutine/stacks.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::sched {
namespace {

constexpr uint32_t kBlock = 256;
/// This many idle helpers keep their stacks, which cost a page or two each.
constexpr uint32_t kKept = 64;

struct HelperBlock {
  StackRegion stacks;
  Proclet proclets[kBlock];
  uint32_t made = 0;  ///< how many proclets are made; only the last block has fewer than kBlock
  uint32_t idle_count = 0;
  Proclet* idle = nullptr;  ///< the list of idle helpers, latest first
};

struct HelperPool {
  std::vector<std::unique_ptr<HelperBlock>> blocks;
  size_t first_idle = 0;  ///< no block before this one has an idle helper
  uint32_t idle = 0;      ///< in all blocks
  ReserveCount warm;      ///< idle helpers whose stacks hold memory
};
constinit Immortal<HelperPool> g_immortal_helper_pool;
constexpr HelperPool& g_helper_pool = g_immortal_helper_pool.value;

HelperBlock* block_of(const Proclet* p) { return g_helper_pool.blocks[p->index / kBlock].get(); }

void add_idle(HelperBlock* block, Proclet* p) {
  p->state = ProcletState::kFinished;
  p->next = block->idle;
  block->idle = p;
  ++block->idle_count;
  ++g_helper_pool.idle;
}

Proclet* pop_idle(HelperBlock* block) {
  Proclet* p = block->idle;
  block->idle = p->next;
  --block->idle_count;
  --g_helper_pool.idle;
  return p;
}

Status add_block() {
  const size_t stack_size = options().stack_size ? options().stack_size : kLeastStack;
  std::unique_ptr<HelperBlock> block(new (std::nothrow) HelperBlock);
  if (!block)
    return error(MPI_ERR_NO_MEM, "no memory for %u more helper coroutines; %u are in use", kBlock,
                 helper_count());
  FGMPI_TRY(block->stacks.reserve(kBlock, stack_size, "helper coroutines"));
  g_helper_pool.blocks.push_back(std::move(block));
  return {};
}

/// Makes one more helper, in the idle state.
Status make_helper() {
  if (g_helper_pool.blocks.empty() || g_helper_pool.blocks.back()->made == kBlock)
    FGMPI_TRY(add_block());
  HelperBlock* block = g_helper_pool.blocks.back().get();
  const uint32_t slot = block->made++;
  Proclet* p = &block->proclets[slot];
  p->index = static_cast<uint32_t>(g_helper_pool.blocks.size() - 1) * kBlock + slot;
  p->kind = ProcletKind::kHelper;
  p->stack_low = block->stacks.low(slot);
  p->stack_size = block->stacks.stack_size();
  block->stacks.install_guard(slot);
  if (block->stacks.guard() == StackGuard::kCanary) require_canary_checks();
  annotate::stack_created(p);
  add_idle(block, p);
  g_helper_pool.first_idle = std::min(g_helper_pool.first_idle, g_helper_pool.blocks.size() - 1);
  return {};
}

/// Frees the pages of an idle helper's stack. The helper gets a new context when it is used next.
void cool(HelperBlock* block, Proclet* p) {
  annotate::stack_emptied(p);
  block->stacks.discard(p->index % kBlock);
  p->context = nullptr;
}

}  // namespace

Status ensure_helper() {
  if (g_helper_pool.idle > 0) return {};
  try {
    return make_helper();
  } catch (const std::bad_alloc&) {
    return error(MPI_ERR_NO_MEM, "no memory for another helper coroutine; %u are in use",
                 helper_count());
  }
}

Proclet* spawn_helper(Proclet* rank, void (*entry)(void*), void* argument) {
  if (__builtin_expect(g_helper_pool.idle == 0, 0)) {
    Status made = ensure_helper();
    if (!made.ok()) {
      write_error_line(made.what());
      end_process(1);
    }
  }
  FGMPI_ASSERT(may_use_engine());
  while (!g_helper_pool.blocks[g_helper_pool.first_idle]->idle) ++g_helper_pool.first_idle;
  Proclet* p = pop_idle(g_helper_pool.blocks[g_helper_pool.first_idle].get());
  if (p->context) g_helper_pool.warm.take();
  p->entry = entry;
  p->argument = argument;
  p->rank_state = rank->rank_state;
  p->image = rank->image;
  p->tool = rank->tool;
  p->mpi_phase = rank->mpi_phase;
  make_runnable(p);
  return p;
}

void helper_main(Proclet* self) {
  for (;;) {
    detail::g_last_call = nullptr;
    self->entry(self->argument);
    self->entry = nullptr;
    self->rank_state = self->image = self->tool = nullptr;
    add_idle(block_of(self), self);
    g_helper_pool.first_idle = std::min<size_t>(g_helper_pool.first_idle, self->index / kBlock);
    g_helper_pool.warm.put();
    park_idle_helper(self);
  }
}

bool trim_helpers() {
  FGMPI_ASSERT(on_host_stack());  // nothing runs on what is freed
  uint32_t excess = g_helper_pool.warm.release_excess(kKept, kKept);
  for (size_t i = g_helper_pool.blocks.size(); i-- > 0 && excess > 0;) {
    HelperBlock* block = g_helper_pool.blocks[i].get();
    for (Proclet* p = block->idle; p && excess > 0; p = p->next) {
      if (!p->context) continue;
      cool(block, p);
      --excess;
    }
  }
  // Frees blocks at the end in which no helper is in use or warm; the first block stays.
  while (g_helper_pool.blocks.size() > 1) {
    HelperBlock* last = g_helper_pool.blocks.back().get();
    bool cold = last->idle_count == last->made;
    for (Proclet* p = last->idle; p && cold; p = p->next) cold = !p->context;
    if (!cold) break;
    g_helper_pool.idle -= last->idle_count;
    for (Proclet* p = last->idle; p; p = p->next) annotate::stack_gone(p);
    g_helper_pool.blocks.pop_back();
  }
  g_helper_pool.first_idle = std::min(g_helper_pool.first_idle, g_helper_pool.blocks.size());
  return g_helper_pool.warm.has_more_than(kKept);
}

uint32_t warm_helpers() { return g_helper_pool.warm.count(); }

uint32_t helper_count() {
  if (g_helper_pool.blocks.empty()) return 0;
  return static_cast<uint32_t>(g_helper_pool.blocks.size() - 1) * kBlock +
         g_helper_pool.blocks.back()->made;
}

Proclet* helper_proclet(uint32_t number) {
  FGMPI_ASSERT(number < helper_count());
  return &g_helper_pool.blocks[number / kBlock]->proclets[number % kBlock];
}

char* helper_stack_top(const Proclet* p) { return block_of(p)->stacks.top(p->index % kBlock); }
bool helper_stack_intact(const Proclet* p) { return block_of(p)->stacks.intact(p->index % kBlock); }

uint64_t written_by_helpers() {
  uint64_t bytes = 0;
  for (auto& block : g_helper_pool.blocks) bytes += block->stacks.written();
  return bytes;
}

int64_t helper_at(const Proclet* p) {
  for (size_t i = 0; i < g_helper_pool.blocks.size(); ++i) {
    const HelperBlock& block = *g_helper_pool.blocks[i];
    const auto offset =
        reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(block.proclets);
    if (offset >= block.made * sizeof *p || offset % sizeof *p != 0) continue;
    return static_cast<int64_t>(i * kBlock + offset / sizeof *p);
  }
  return -1;
}

bool helper_is_sound(const Proclet* p, uint32_t number) {
  const StackRegion& stacks = g_helper_pool.blocks[number / kBlock]->stacks;
  return p->index == number && p->kind == ProcletKind::kHelper &&
         p->state <= ProcletState::kFinished && p->stack_low == stacks.low(number % kBlock) &&
         p->stack_size == stacks.stack_size();
}

Proclet* helper_of_address(const void* address, bool* in_guard) {
  for (auto& block : g_helper_pool.blocks) {
    int64_t slot = block->stacks.slot_of(address, in_guard);
    if (slot >= 0) return &block->proclets[slot];
  }
  return nullptr;
}

}  // namespace fgmpi::sched
