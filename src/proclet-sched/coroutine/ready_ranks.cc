// Lists and reorders what is ready.
#include "proclet-sched/coroutine/ready_ranks.h"

#include "base/assert.h"
#include "proclet-sched/coroutine/scheduler.h"
#include "proclet-sched/coroutine/switch_inl.h"

namespace fgmpi::sched {
namespace {

struct ReadyList {
  Proclet* head = nullptr;
  Proclet* tail = nullptr;
  void append(Proclet* p) {
    (head ? tail->next : head) = p;
    tail = p;
  }
};

}  // namespace

uint32_t list_ready_ranks(Proclet** ranks, uint32_t most) {
  uint32_t found = 0;
  for (Proclet* p = g_hot.head; p && found < most; p = p->next)
    if (p->kind == ProcletKind::kRank) ranks[found++] = p;
  for (Proclet* p : g_scheduler.shuffled)
    if (found < most && p->kind == ProcletKind::kRank) ranks[found++] = p;
  return found;
}

void run_helpers_first() {
  Proclet* self = g_hot.current;
  if (!g_hot.fifo || !self || g_scheduler.in_host_call) return;
  ReadyList helpers, others;
  for (Proclet* p = g_hot.head; p; p = p->next)
    (p->kind == ProcletKind::kHelper ? helpers : others).append(p);
  if (!helpers.head) return;
  helpers.append(self);
  self->next = others.head;
  if (others.head) others.tail->next = nullptr;
  g_hot.head = helpers.head;
  g_hot.tail = others.head ? others.tail : self;
  self->state = ProcletState::kReady;
  self->wait = nullptr;
  ++g_scheduler.rests;
  switch_away(self);
}

}  // namespace fgmpi::sched
