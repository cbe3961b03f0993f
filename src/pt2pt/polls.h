// What a call does that has polled in vain: MPI_Test, MPI_Iprobe and their like.
//
// It lets others run, and may rest (proclet-sched/coroutine/poller.h). What it polls for wakes the
// rank: each request that it tests gets the rank's Waiter, and the endpoint its Prober. They stay
// there when the call has returned, so that a rank that polls for one thing after the other is
// woken by each of them.
//
// Thread rule: inside.
#pragma once

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

/// After a test in vain of these requests (or nullptr in their places). May switch.
void let_others_run_after_test(Request* const* requests, size_t count, const char* call);
/// After a search in vain for an unexpected message. May switch.
void let_others_run_after_probe(Endpoint* at, const Envelope& pattern, const char* call);

}  // namespace fgmpi::pt2pt
