// Switches between stacks, and calls that run on the host stack.

#include "proclet-sched/coroutine/jump.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "proclet-sched/coroutine/call_count.h"
#include "proclet-sched/coroutine/identity.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/coroutine/poller.h"
#include "proclet-sched/coroutine/visitors.h"

namespace fgmpi::sched {
namespace {

/// The transports are polled once in this many switches.
constexpr uint32_t kPollEvery = 64;
/// While ranks rest that poll in vain, the transports are polled at least so often (ns), unless a
/// rank computes for longer.
constexpr int64_t kLongestPause = 50'000;

[[noreturn, gnu::cold]] void stack_overflowed(Proclet* p) {
  char who[kMostIdentityWords];
  const Identity identity = identify(p, nullptr);
  name_identity(identity, who, sizeof who);
  if (identity.damaged)
    fprintf(stderr,
            "fgmpi: memory of the library has been overwritten, the stack of %s among it (seen by "
            "its canary)\n",
            who);
  else
    fprintf(stderr,
            "fgmpi: stack overflow of %s (%zu KiB, seen by its canary): raise FGMPI_STACK_SIZE\n",
            who, p->stack_size / 1024);
  abort();
}

[[noreturn]] void proclet_main() {
  processor::end_call_stack();
  const void* low = nullptr;
  size_t size = 0;
  annotate::arrive(nullptr, &low, &size);
  // The first proclet is entered from the host stack.
  if (!g_scheduler.host_low) g_scheduler.host_low = low, g_scheduler.host_size = size;
  detail::g_last_call = nullptr;
  Proclet* self = current();
  if (self->kind == ProcletKind::kHelper) helper_main(self);
  self->entry(self->argument);
  finish(0);
}

}  // namespace

[[gnu::noinline, gnu::cold]] void do_extras(Proclet* from, Proclet* to) {
  if (from && !stack_intact(from)) stack_overflowed(from);
  if (to && !to->context) make_context(to);  // the switch hook uses its image
  const bool due =
      g_scheduler.hook_at == HookAt::kEachSwitch || g_hot.watched[0] != g_hot.watched[1];
  if (g_scheduler.switch_hook && due) g_scheduler.switch_hook(from, to);
  if (threads_enabled()) record_switch(to);
  if (Poller::resting() == 0)
    update_extras();
  else if (now_ns() - g_scheduler.polled_at > kLongestPause)
    poll_at_next_switch();
}

void update_extras() {
  if (queue_is_shared()) return;  // then each switch has extras
  g_hot.extras = switches_are_recorded() ||
                 (g_scheduler.switch_hook && g_scheduler.hook_at == HookAt::kEachSwitch) ||
                 g_scheduler.stacks.guard() == StackGuard::kCanary;
}

[[gnu::noinline, gnu::cold]] void make_context(Proclet* p) {
  if (restore_context(p)) return;
  p->context = processor::new_context<proclet_main>(
      stack_top(p), static_cast<size_t>(stack_top(p) - p->stack_low));
  record_first_run(p);
}

void begin_below(Proclet* p, char* end, void (*entry)(void*), void* argument) {
  p->entry = entry;
  p->argument = argument;
  p->context = processor::new_context<proclet_main>(end, static_cast<size_t>(end - p->stack_low));
}

void read_exceptions(void** words) { memcpy(words, g_hot.cells.exceptions, kExceptionBytes); }

void begin_period() {
  g_scheduler.switches += g_scheduler.period;
  g_scheduler.period = g_hot.until_poll = kPollEvery;
  detail::g_calls_left = kCallsPerTurn;
  g_scheduler.poll_due = true;
}

void poll_at_next_switch() {
  g_scheduler.period -= g_hot.until_poll - 1;
  g_hot.until_poll = 1;
}

[[gnu::noinline]] void switch_to_host(Proclet* self) {
  if (g_hot.until_poll == 0) begin_period();
  if (self->kind == ProcletKind::kForeign) return park_thread(self);
  save_runtime(self);
  jump_to_host(self);
}

void serve_host_calls() {
  while (g_scheduler.host_call) {
    auto* function = g_scheduler.host_call;
    g_scheduler.host_call = nullptr;
    g_scheduler.in_host_call = true;
    function(g_scheduler.host_argument);
    g_scheduler.in_host_call = false;
    jump_from_host(g_hot.current);
  }
  g_scheduler.last_ran = g_hot.current;
  detail::set_current(nullptr);
  if (Proclet* dead = g_scheduler.finished) {
    g_scheduler.finished = nullptr;
    if (dead->state == ProcletState::kParked) return end_departure(dead);
    --g_scheduler.live;
    if (is_end(dead)) return;  // requests that the rank had started are on its old stack
    if (!stack_intact(dead)) stack_overflowed(dead);
    annotate::stack_gone(dead);
    discard_stack(dead);
    dead->context = nullptr;
  }
}

void run_from_host(Proclet* p) {
  load_runtime(p);
  resume_target(p);
  jump_from_host(p);
  serve_host_calls();
}

void require_canary_checks() { g_hot.extras = true; }

void set_runtime_cells(const RuntimeCells& cells) { g_hot.cells = cells; }
void watch(const void* const* words) { g_hot.watched = words; }

void set_switch_hook(void (*hook)(Proclet*, Proclet*), HookAt at) {
  g_scheduler.switch_hook = hook;
  g_scheduler.hook_at = at;
  update_extras();
}

void call_hook_at_each_switch() {
  g_scheduler.hook_at = g_scheduler.beneath_at = HookAt::kEachSwitch;
  update_extras();
}

bool on_host_stack() { return !g_hot.current || g_scheduler.in_host_call; }

void call_on_host_stack(void (*function)(void*), void* argument) {
  Proclet* self = g_hot.current;
  if (!self || g_scheduler.in_host_call) return function(argument);
  if (self->kind == ProcletKind::kForeign) {  // its own stack is as large
    g_scheduler.in_host_call = true;
    function(argument);
    g_scheduler.in_host_call = false;
    return;
  }
  g_scheduler.host_call = function;
  g_scheduler.host_argument = argument;
  jump_to_host(self);
}

uint64_t switch_count() {
  const uint64_t switches = g_scheduler.switches + (g_scheduler.period - g_hot.until_poll);
  return threads_enabled() ? switches + thread_entries() : switches;
}

namespace {
uint64_t count_parked_ranks() {
  uint64_t parked = 0;
  for (uint32_t i = 0; i < rank_count(); ++i)
    parked += rank_proclet(i)->state == ProcletState::kParked;
  return parked;
}

[[maybe_unused]] const bool g_counters_provided = [] {
  counters::provide(counters::kSwitches, [](const void*) { return switch_count(); });
  counters::provide(counters::kIdleTime, [](const void*) {
    return static_cast<uint64_t>(g_scheduler.idle_time.total(g_scheduler.idle_rounds));
  });
  counters::provide(counters::kParkedRanks, [](const void*) { return count_parked_ranks(); });
  return true;
}();
}  // namespace

}  // namespace fgmpi::sched
