// Ranks that go from one process of a host to another: their proclets.
#include "proclet-sched/coroutine/visitors.h"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "base/count_words.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "proclet-sched/coroutine/host_loop.h"
#include "proclet-sched/coroutine/jump.h"

namespace fgmpi::sched {
namespace {

/// What the rank that is leaving its stack wants to be called.
struct Departure {
  void (*then)(void*) = nullptr;
  void* argument = nullptr;
};
Departure g_departure;

}  // namespace

Status add_visitor(const StackPlaces& place, bool fresh, uint32_t* index) {
  uint32_t from;
  const auto at = find_room_for_ranks(1, &from);
  if (g_scheduler.room - from < 1)
    return error(MPI_ERR_NO_MEM, "a process has no room for more than %s at a time",
                 count_words(g_scheduler.room, "rank").c_str());
  AddedRanks block{from, 1, std::make_unique<StackRegion>(), true};
  block.stacks->visit(g_scheduler.stacks.stack_size(), place, fresh);
  auto* p = new (g_scheduler.ranks + from) Proclet();
  p->index = from;
  p->slot = place.first_slot;
  p->stack_low = block.stacks->low(0);
  p->stack_size = block.stacks->stack_size();
  p->state = ProcletState::kParked;
  annotate::stack_created(p);
  g_scheduler.added.insert(at, std::move(block));
  g_scheduler.count = std::max(g_scheduler.count, from + 1);
  fgmpi_debug_table.rank_count = g_scheduler.count;
  ++g_scheduler.live;
  *index = from;
  return {};
}

void remove_visitor(uint32_t index) {
  Proclet* p = g_scheduler.ranks + index;
  p->state = ProcletState::kFinished;
  annotate::stack_gone(p);
  --g_scheduler.live;
  remove_ranks(index);
}

bool is_visitor(const Proclet* p) {
  return p->kind == ProcletKind::kRank && p->index >= g_scheduler.created &&
         p->slot < g_scheduler.places.added_slot && g_scheduler.places.in_file;
}

void depart(const WaitSite* away, void (*then)(void*), void* argument) {
  Proclet* self = current();
  FGMPI_CHECK(self && self->kind == ProcletKind::kRank && !on_host_stack());
  g_departure = {then, argument};
  self->wait = away;
  self->state = ProcletState::kParked;
  g_scheduler.finished = self;
  if (--g_hot.until_poll == 0) begin_period();
  save_runtime(self);
  jump_to_host(self, true);
  __builtin_unreachable();
}

void end_departure(Proclet* p) {
  p->context = nullptr;
  const Departure departure = std::exchange(g_departure, {});
  departure.then(departure.argument);
}

}  // namespace fgmpi::sched
