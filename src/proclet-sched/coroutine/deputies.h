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
// The deputy of a visitor (visitors.h) is in the rank's home process; then helpers do not ask the
// rank, but call functions of the program themselves, as its memory is there as well.
//
// Thread rule: inside, on a proclet, while no rank has threads. Invariant: a rank makes a call for
// others only where it waits for a deputy. A rank that leaves such a call by longjmp() or an
// exception leaves its deputy parked.
#pragma once

#include <cstdint>

#include "base/checkpoint_link.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Sends the call of a visitor to the process that has its objects. There it is made by a helper of
/// the rank; then end_call_elsewhere() is to be called here, with this number.
using SendCall = void (*)(Proclet* visitor, const checkpoint::LayerCall& call, uint64_t number);
void set_send_call(SendCall send);
/// The call has returned, and has left the rank in this phase. False: there is no such call.
bool end_call_elsewhere(uint64_t number, uint8_t phase);

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
