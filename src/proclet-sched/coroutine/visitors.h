// Ranks that go from one process of a host to another (privatize/load/visitors.h): what becomes of
// their proclets.
//
//   home      the proclet of a rank that is away stays: parked, without a context, until the rank
//             is back
//   elsewhere the rank gets a proclet and a number behind all others while it is there: a visitor;
//             its stack is the one in its slot, of which the process has nothing else
//
// Thread rule: the scheduler's thread, while no rank has threads.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Makes the proclet of a visitor, parked and without a context, as begin_below() wants it.
/// `place`: its slot, as that of one rank. `fresh`: the slot has never been used here, so its guard
/// is missing. Error: there is no number left.
Status add_visitor(const StackPlaces& place, bool fresh, uint32_t* index);
/// Forgets the proclet of a visitor that has left. REQUIRES: called on the host stack.
void remove_visitor(uint32_t index);
bool is_visitor(const Proclet* p);

/// Leaves the running rank's stack for ever, and then calls then(argument) on the host stack, where
/// no proclet is current. The proclet is parked, and waits for `away`, which outlives it.
[[noreturn]] void depart(const WaitSite* away, void (*then)(void*), void* argument);

// ---- jump.cc calls it when the proclet has left its stack ----
void end_departure(Proclet* p);

}  // namespace fgmpi::sched
