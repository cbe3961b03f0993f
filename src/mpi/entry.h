// How a call begins when several threads may call MPI (proclet-sched/threads.h): outside of the
// library, it takes the engine lock and begins anew.
//
// Calls with a fast path do not ask: while threads are enabled comm::find() finds nothing for a
// caller that is outside, so that they take their slow path, which asks. All others ask first.
#pragma once

#include "proclet-sched/last_call.h"
#include "proclet-sched/threads.h"

namespace fgmpi::mpi {

/// The calling thread belongs to no rank: says so and ends the job.
[[noreturn]] void refuse_thread(const char* call);

/// Runs `body` inside the library. REQUIRES: sched::outside().
template <class Body>
[[gnu::always_inline]] inline auto run_inside_here(const char* call, Body&& body) {
  sched::Entry entry;
  if (__builtin_expect(!entry, 0)) refuse_thread(call);
  return body();
}
/// The same out of line.
template <class Body>
[[gnu::noinline]] auto run_inside(const char* call, Body&& body) {
  return run_inside_here(call, body);
}

}  // namespace fgmpi::mpi

/// First in a binding, or on its slow path: `again` is the same call, which is recorded as the
/// rank's last. Arguments are captured by value: references to them would keep them in memory
/// instead of registers, in the fast path too.
#define FGMPI_TAKE_TURN(call, again)                              \
  if (__builtin_expect(::fgmpi::sched::outside(), 0))             \
    return ::fgmpi::mpi::run_inside(call, [=] { return again; }); \
  ::fgmpi::sched::record_call(call)
