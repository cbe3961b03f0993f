// The jump from one stack to another: what is saved and loaded, and the part of the host stack.
//
//   proclet -> proclet      jump_between(): swaps errno and the exception state
//   proclet -> host stack   switch_to_host(): the host loop goes on;
//                           call_on_host_stack(): a call is made for the proclet, which stays
//                           current, with its errno and exceptions
//   host stack -> proclet   run_from_host()
//
// The jumps are in line, since a switch is among the hottest paths
// (benchmarks/micro/switch_cost.cc): no system call, no lock, no allocation.
#pragma once

#include <string.h>

#include <boost/context/detail/fcontext.hpp>

#include "base/processor.h"
#include "proclet-sched/coroutine/annotate.h"
#include "proclet-sched/coroutine/last_call.h"
#include "proclet-sched/coroutine/queue.h"

namespace fgmpi::sched {

namespace ctx = boost::context::detail;

constexpr size_t kColouring = StackRegion::kColours * StackRegion::kColourBytes;
constexpr size_t kExceptionBytes = sizeof(Proclet::exception_state);

/// The work that only some switches have: canaries, and what the owner of the switch hook swaps.
[[gnu::cold]] void do_extras(Proclet* from, Proclet* to);
/// Computes anew whether switches have to call do_extras().
void update_extras();
/// Makes a proclet's first context. Called when the proclet first runs, since it touches the stack.
[[gnu::cold]] void make_context(Proclet* p);
/// Makes the calls for which proclets have come to the host stack, and frees the stack of a proclet
/// that has finished. Returns when a proclet has come for another reason.
void serve_host_calls();
/// Runs proclets, this one first, until one comes back for another reason than a call.
void run_from_host(Proclet* p);
/// Leaves the running proclet for the host loop.
void switch_to_host(Proclet* self);
/// begin_period() begins another period between polls. poll_at_next_switch() makes the next switch
/// go to the host stack, which polls.
void begin_period();
void poll_at_next_switch();

inline void extras_if_any(Proclet* from, Proclet* to) {
  if (__builtin_expect(g_hot.extras || g_hot.watched[0] != g_hot.watched[1], 0))
    do_extras(from, to);
}

/// Called before the jump from a proclet to the host stack.
inline void save_runtime(Proclet* from) {
  from->saved_errno = *g_hot.cells.errno_cell;
  memcpy(from->exception_state, g_hot.cells.exceptions, kExceptionBytes);
  extras_if_any(from, nullptr);
}

/// Called before the jump from the host stack to a proclet.
inline void load_runtime(Proclet* to) {
  extras_if_any(nullptr, to);
  memcpy(g_hot.cells.exceptions, to->exception_state, kExceptionBytes);
  *g_hot.cells.errno_cell = to->saved_errno;
}

inline void swap_runtime(Proclet* from, Proclet* to) {
  const RuntimeCells& cells = g_hot.cells;
  from->saved_errno = *cells.errno_cell;
  memcpy(from->exception_state, cells.exceptions, kExceptionBytes);
  memcpy(cells.exceptions, to->exception_state, kExceptionBytes);
  extras_if_any(from, to);
  *cells.errno_cell = to->saved_errno;
}

/// Jumps to another stack; returns when something jumps back.
inline ctx::transfer_t jump(ctx::fcontext_t to, void* data) {
  const processor::FloatMode mode = processor::float_mode();
  const ctx::transfer_t back = ctx::jump_fcontext(to, data);
  processor::set_float_mode(mode);
  return back;
}

/// Ends every jump on the other stack: stores the leaver's context where it asked for.
inline void arrived(ctx::transfer_t t) { *static_cast<void**>(t.data) = t.fctx; }

inline void resume_target(Proclet* to) {
  if (__builtin_expect(!to->context, 0)) make_context(to);
  to->state = ProcletState::kRunning;
  g_hot.current = to;
}

inline void jump_between(Proclet* from, Proclet* to) {
  swap_runtime(from, to);
  resume_target(to);
  annotate::leave(&from->fake_stack, to->stack_low, to->stack_size);
  arrived(jump(to->context, &from->context));
  annotate::arrive(from->fake_stack, nullptr, nullptr);
}

/// Jumps from a proclet to the host stack. `abandoned`: the proclet will never run again.
inline void jump_to_host(Proclet* from, bool abandoned = false) {
  annotate::leave(abandoned ? nullptr : &from->fake_stack, g_scheduler.host_low,
                  g_scheduler.host_size);
  arrived(jump(g_scheduler.host_context, &from->context));
  annotate::arrive(from->fake_stack, nullptr, nullptr);
}

/// Jumps from the host stack to a proclet; returns when a proclet jumps back.
inline void jump_from_host(Proclet* to) {
  annotate::leave(&g_scheduler.host_fake_stack, to->stack_low, to->stack_size);
  arrived(jump(to->context, &g_scheduler.host_context));
  annotate::arrive(g_scheduler.host_fake_stack, nullptr, nullptr);
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

}  // namespace fgmpi::sched
