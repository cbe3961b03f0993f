// What proclets call: park, yield, sleep, finish.
#include "proclet-sched/sched.h"

#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "proclet-sched/coroutine/call_count.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/running_state.h"
#include "proclet-sched/coroutine/timers.h"

namespace fgmpi::sched {

namespace detail {
constinit Hot g_hot;
constinit const char* g_last_call = nullptr;
constinit void* g_running_state = nullptr;
}  // namespace detail
constinit Immortal<Scheduler> g_immortal_scheduler;

namespace {
const WaitSite kSleepSite{"sleep", nullptr, false};
}

void park(const WaitSite* site) {
  Proclet* self = g_hot.current;
  FGMPI_ASSERT(self && !g_scheduler.in_host_call && may_use_engine());
  self->wait = site;
  self->state = ProcletState::kParked;
  switch_away(self);
  self->wait = nullptr;
}

void park_idle_helper(Proclet* self) {
  self->state = ProcletState::kFinished;
  switch_away(self);
}

void yield() {
  Proclet* self = g_hot.current;
  if (__builtin_expect(!self, 0)) {
    make_progress();
    return;
  }
  if (__builtin_expect(g_scheduler.in_host_call, 0)) return;
  if (__builtin_expect(self->kind == ProcletKind::kForeign, 0)) return yield_thread(self);
  // Picked before this proclet is among them.
  if (Proclet* next = pick_shuffled()) push_front(next);
  if (!g_hot.head) poll_at_next_switch();  // nothing else is ready: poll the transports
  append(self);
  ++g_scheduler.rests;
  self->wait = nullptr;
  switch_away(self);
}

uint32_t detail::g_calls_left = kCallsPerTurn;
uint32_t detail::g_events_left = 0;

void let_others_run() {
  detail::g_calls_left = kCallsPerTurn;
  force_switch();
}

uint64_t rest_count() { return g_scheduler.rests; }

void force_switch() {
  if (!outside() && !is_unattached_thread() && current()) yield();
}

void sleep_for(int64_t ns) {
  Proclet* self = current();
  if (!self || g_scheduler.in_host_call) {
    const timespec t = to_timespec(ns);
    nanosleep(&t, nullptr);
    return;
  }
  if (ns <= 0) return yield();
  if (self->kind == ProcletKind::kForeign) return sleep_thread(ns);
  if (is_repeatable()) g_repeatable_time->catch_up();
  int64_t now = now_ns();
  const int64_t deadline = add_time(now, ns);
  add_timer(deadline, self);
  self->wait = &kSleepSite;
  self->state = ProcletState::kSleeping;
  ++g_scheduler.rests;
  switch_away(self);
  self->wait = nullptr;
}

void finish(int exit_status) {
  Proclet* self = current();
  FGMPI_CHECK(self && self->kind == ProcletKind::kRank && !g_scheduler.in_host_call);
  self->exit_status = exit_status;
  if (g_scheduler.exit_status == 0 && self->index < g_scheduler.created)
    g_scheduler.exit_status = exit_status;
  self->state = ProcletState::kFinished;
  g_scheduler.finished = self;
  if (__builtin_expect(!g_scheduler.ends.empty(), 0)) end_of_left_rank(self);
  if (--g_hot.until_poll == 0) begin_period();
  save_runtime(self);
  jump_to_host(self, true);
  __builtin_unreachable();
}

}  // namespace fgmpi::sched
