// The jump from one stack to another: what is saved and loaded, and the part of the host stack.
//
//   proclet -> proclet      jump_between() (switch_inl.h): swaps errno and the exception state
//   proclet -> host stack   switch_to_host(): the host loop goes on;
//                           call_on_host_stack(): a call is made for the proclet, which stays
//                           current, with its errno and exceptions
//   host stack -> proclet   run_from_host()
//
// The jumps are in line, since a switch is among the hottest paths
// (benchmarks/micro/switch_cost.cc): no system call, no lock, no allocation.
#pragma once

#include "proclet-sched/coroutine/queue.h"
#include "proclet-sched/coroutine/switch_inl.h"

namespace fgmpi::sched {

constexpr size_t kColouring = StackRegion::kColours * StackRegion::kColourBytes;

/// Computes anew whether switches have to call do_extras().
void update_extras();
/// Makes the context of a proclet that has none. Called when it first runs, since that touches the
/// stack, and when it runs after its stack has been packed (packing.h).
[[gnu::cold]] void make_context(Proclet* p);
/// Lets a proclet that has not run yet begin with another function than its own, on the part of its
/// stack that ends at `end`.
void begin_below(Proclet* p, char* end, void (*entry)(void*), void* argument);
/// The two words of the C++ runtime about exceptions of the running proclet.
void read_exceptions(void** words);
/// Makes the calls for which proclets have come to the host stack, and frees the stack of a proclet
/// that has finished. Returns when a proclet has come for another reason.
void serve_host_calls();
/// Runs proclets, this one first, until one comes back for another reason than a call.
void run_from_host(Proclet* p);
/// begin_period() begins another period between polls. poll_at_next_switch() makes the next switch
/// go to the host stack, which polls.
void begin_period();
void poll_at_next_switch();

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

/// Jumps from a proclet to the host stack. `abandoned`: the proclet will never run again.
inline void jump_to_host(Proclet* from, bool abandoned = false) {
  annotate::leave(abandoned ? nullptr : &from->fake_stack, g_scheduler.host_low,
                  g_scheduler.host_size);
  processor::jump_to_stack(&from->context, g_scheduler.host_context);
  annotate::arrive(from->fake_stack, nullptr, nullptr);
}

/// Jumps from the host stack to a proclet; returns when a proclet jumps back.
inline void jump_from_host(Proclet* to) {
  annotate::leave(&g_scheduler.host_fake_stack, to->stack_low, to->stack_size);
  processor::jump_to_stack(&g_scheduler.host_context, to->context);
  annotate::arrive(g_scheduler.host_fake_stack, nullptr, nullptr);
}

}  // namespace fgmpi::sched
