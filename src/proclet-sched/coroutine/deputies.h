// Deputies: helpers that make a call of MPI in the place of their rank, which waits for them
// (base/checkpoint_link.h declares the functions that start and await them).
//
// A rank that runs in another process than its communicators calls MPI in this way. The functions
// of the program that MPI calls meanwhile, a reduction's operation, say, still belong to the rank:
//
//   rank      begin ........ end: waits | calls the function | waits | goes on
//   deputy          calls MPI ......... | asks, waits        | ..... | has returned
//
// Other helpers of the rank, which run a nonblocking collective, ask in the same way. A function
// that calls MPI in turn may have deputies of its own; then the rank waits for the innermost one.
//
// Thread rule: inside, on a proclet, while no rank has threads. Invariant: a rank makes a call for
// others only where it waits for a deputy. A rank that leaves such a call by longjmp() or an
// exception leaves its deputy parked.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// May the running helper have its rank make a call (fgmpi_call_by_rank)?
bool is_rank_at_hand();

/// Calls what calls an operation of the program: on the host stack; or, where the function has the
/// rank itself call it, right here. Then it may switch.
template <class Call>
void call_for_program(Call&& call) {
  if (__builtin_expect(is_rank_at_hand(), 0))
    call();
  else
    call_on_host(call);
}

/// What a parked proclet waits for: where it waits for a deputy, what that waits for.
const WaitSite* innermost_wait(const WaitSite* site);

}  // namespace fgmpi::sched
