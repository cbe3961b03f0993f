// Helper coroutines: made on demand, pooled, never freed. A helper that has done its work keeps its
// stack and waits in the pool (a list through Proclet::next) for the next spawn_helper().
#include <algorithm>
#include <memory>
#include <vector>

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "proclet-sched/annotate.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/internal.h"
#include "proclet-sched/stacks.h"

namespace fgmpi::sched {
namespace {

constexpr uint32_t kBlock = 256;

struct Block {
  StackRegion stacks;
  Proclet proclets[kBlock];
};

struct Pool {
  std::vector<std::unique_ptr<Block>> blocks;
  uint32_t made = 0;
  Proclet* idle = nullptr;
};
constinit Immortal<Pool> g_immortal_pool;
constexpr Pool& g_pool = g_immortal_pool.value;

Block* block_of(const Proclet* p) { return g_pool.blocks[p->index / kBlock].get(); }

Proclet* make_helper() {
  if (g_pool.made % kBlock == 0) {
    auto block = std::make_unique<Block>();
    const size_t stack_size = options().stack_size ? options().stack_size : default_stack_size(~0u);
    Status status = block->stacks.reserve(kBlock, stack_size, "helper coroutines");
    if (!status.ok()) {
      fprintf(stderr, "fgmpi: %s\n", status.what().c_str());
      abort();
    }
    g_pool.blocks.push_back(std::move(block));
  }
  Block* block = g_pool.blocks.back().get();
  uint32_t slot = g_pool.made % kBlock;
  Proclet* p = &block->proclets[slot];
  p->index = g_pool.made++;
  p->kind = Kind::kHelper;
  p->stack_low = block->stacks.low(slot);
  p->stack_size = block->stacks.stack_size();
  block->stacks.install_guard(slot);
  if (block->stacks.guard() == Guard::kCanary) require_canary_checks();
  annotate::stack_created(p);
  return p;
}

}  // namespace

Proclet* spawn_helper(Proclet* rank, void (*entry)(void*), void* argument) {
  Proclet* p = g_pool.idle;
  if (p) {
    g_pool.idle = p->next;
  } else {
    p = make_helper();
  }
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
    self->entry(self->argument);
    self->entry = nullptr;
    self->rank_state = self->image = self->tool = nullptr;
    self->next = g_pool.idle;
    g_pool.idle = self;
    park_idle_helper(self);
  }
}

uint32_t helper_count() { return g_pool.made; }

Proclet* helper_proclet(uint32_t number) {
  FGMPI_ASSERT(number < g_pool.made);
  return &g_pool.blocks[number / kBlock]->proclets[number % kBlock];
}

char* helper_stack_top(const Proclet* p) { return block_of(p)->stacks.top(p->index % kBlock); }
bool helper_stack_intact(const Proclet* p) { return block_of(p)->stacks.intact(p->index % kBlock); }

void switch_helper_guards(bool on) {
  uint32_t left = g_pool.made;
  for (auto& block : g_pool.blocks) {
    block->stacks.switch_guards(std::min(left, kBlock), on);
    left -= std::min(left, kBlock);
  }
}

Proclet* helper_of_address(const void* address, bool* in_guard) {
  for (auto& block : g_pool.blocks) {
    int64_t slot = block->stacks.slot_of(address, in_guard);
    if (slot >= 0) return &block->proclets[slot];
  }
  return nullptr;
}

}  // namespace fgmpi::sched
