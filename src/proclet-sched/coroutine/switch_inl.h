// The switch from one proclet to the next, in line, since it is among the hottest paths
// (benchmarks/micro/switch_cost.cc): no system call, no lock, no allocation. The other jumps are in
// jump.h.
//
// Thread rule: as sched.h.
#pragma once

#include <string.h>

#include "base/processor_jump.h"
#include "proclet-sched/coroutine/annotate.h"
#include "proclet-sched/coroutine/last_call.h"
#include "proclet-sched/coroutine/running_state.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {

using detail::g_hot;
constexpr size_t kExceptionBytes = sizeof(Proclet::exception_state);

/// The work that only some switches have: canaries, and what the owner of the switch hook swaps.
[[gnu::cold]] void do_extras(Proclet* from, Proclet* to);
/// Makes a proclet's first context. Called when the proclet first runs, since it touches the stack.
[[gnu::cold]] void make_context(Proclet* p);
/// Leaves the running proclet for the host loop.
void switch_to_host(Proclet* self);

/// REQUIRES: the list is not empty.
inline Proclet* pop_head() {
  Proclet* p = g_hot.head;
  g_hot.head = p->next;
  return p;
}

inline void extras_if_any(Proclet* from, Proclet* to) {
  if (__builtin_expect(g_hot.extras || g_hot.watched[0] != g_hot.watched[1], 0))
    do_extras(from, to);
}

inline void swap_runtime(Proclet* from, Proclet* to) {
  const RuntimeCells cells = g_hot.cells;
  from->saved_errno = *cells.errno_cell;
  memcpy(from->exception_state, cells.exceptions, kExceptionBytes);
  memcpy(cells.exceptions, to->exception_state, kExceptionBytes);
  extras_if_any(from, to);
  *cells.errno_cell = to->saved_errno;
}

inline void resume_target(Proclet* to) {
  if (__builtin_expect(!to->context, 0)) make_context(to);
  to->state = ProcletState::kRunning;
  g_hot.current = to;
  detail::g_running_state = to->rank_state;
}

inline void jump_between(Proclet* from, Proclet* to) {
  swap_runtime(from, to);
  resume_target(to);
  annotate::leave(&from->fake_stack, to->stack_low, to->stack_size);
  processor::jump_to_stack(&from->context, to->context);
  annotate::arrive(from->fake_stack, nullptr, nullptr);
}

/// Leaves the running proclet for the next one; for the host stack when nothing is ready or the
/// transports are to be polled. REQUIRES: its state and its list are set already.
inline void switch_away(Proclet* self) {
  const char* call = detail::g_last_call;
  if (__builtin_expect(--g_hot.until_poll == 0 || !g_hot.head, 0))
    switch_to_host(self);
  else
    jump_between(self, pop_head());
  detail::g_last_call = call;
}

/// park(), in line, which leaves Proclet::wait as it is. May switch. REQUIRES: as park();
/// site->call is the last call that was recorded.
[[gnu::always_inline]] inline void park_in_line(const WaitSite* site) {
  Proclet* self = g_hot.current;
  const char* call = site->call;
  FGMPI_ASSERT(self && !on_host_stack());
  self->wait = site;
  self->state = ProcletState::kParked;
  if (__builtin_expect(--g_hot.until_poll == 0 || !g_hot.head, 0))
    switch_to_host(self);
  else
    jump_between(self, pop_head());
  detail::g_last_call = call;
}

}  // namespace fgmpi::sched
