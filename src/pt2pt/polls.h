// What a call does that has polled in vain: MPI_Test, MPI_Iprobe and their like.
//
// The rank lets others run, and may rest (proclet-sched/coroutine/poller.h). What it polls for
// wakes it: each request that it tests gets the rank's Waiter, and the endpoint its Prober. They
// stay there when the call has returned, so that a rank that polls for one thing after the other is
// woken by each of them.
//
// Thread rule: inside.
#pragma once

#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

/// After a test in vain of these requests (or nullptr in their places). May switch.
void let_others_run_after_test(Request* const* requests, size_t count, const char* call);
/// A test of several requests costs the time to compare their handles, where nothing has come since
/// the rank last tested them in vain and it has only polled since then.
///
/// Has the rank tested these handles in vain before, so that this test need not look at the
/// requests? Lets others run if so. False also where something has come meanwhile: then the test
/// must look. May switch.
bool in_vain_again(const MPI_Request* handles, int count, const char* call);
/// Called after a test in vain, for in_vain_again(). Without memory, nothing is remembered.
void remember_tested(const MPI_Request* handles, int count);
/// After a look in vain at something that is neither a request nor a message. `*news` is set to
/// what has to be counted down when it may have come, nullptr where the rank needs no such thing.
/// `site` names what the rank looks at. May switch.
void let_others_run_after_look(Waiter** news, sched::WaitSite* site);
/// After a search in vain for an unexpected message. May switch.
void let_others_run_after_probe(Endpoint* at, const Envelope& pattern, const char* call);
/// The running rank may be about to leave the process: no message at its endpoint wakes it any
/// more, and what it has tested is forgotten. `ends`: its proclet ends then.
void stop_polling(Endpoint* at, bool ends);

}  // namespace fgmpi::pt2pt
