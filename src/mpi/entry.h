// How a call begins when several threads may call MPI (proclet-sched/threads/threads.h): a caller
// that is outside of the library locks the engine and begins the call anew.
//
// Calls with a fast path do not check this first. While threads are enabled, comm::find() finds
// nothing for a caller that is outside, so these calls continue on their slow path, which checks;
// sends and receives first try to borrow the lock (mpi/pt2pt/pt2pt_calls.h). All other calls check
// first.
#pragma once

#include "proclet-sched/coroutine/last_call.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi {

/// Reports that the calling thread belongs to no rank, and ends the job.
[[noreturn]] void refuse_thread(const char* call);

/// Runs `body` inside the library. REQUIRES: sched::outside().
template <class Body>
[[gnu::always_inline]] inline auto run_inside_here(const char* call, Body&& body) {
  sched::EngineEntry entry;
  if (__builtin_expect(!entry, 0)) refuse_thread(call);
  return body();
}
/// As run_inside_here(), out of line.
template <class Body>
[[gnu::noinline]] auto run_inside(const char* call, Body&& body) {
  return run_inside_here(call, body);
}

/// Stands in a call that has entered the library by EngineEntry::borrow(): leaves it at the end.
struct LeaveAtEnd {
  LeaveAtEnd() = default;
  ~LeaveAtEnd() { sched::EngineEntry::leave(); }
  LeaveAtEnd(const LeaveAtEnd&) = delete;
  LeaveAtEnd& operator=(const LeaveAtEnd&) = delete;
};
/// End such a call, which has no more to do but to return its code: leave_with() where
/// EngineEntry::may_give_back() is false, end_loan_with() where give_back() has failed.
int leave_with(int code);
int end_loan_with(int code);
/// Leaves the library, in line, and returns `code`.
[[gnu::always_inline]] inline int give_back_with(int code) {
  if (!sched::EngineEntry::may_give_back()) return leave_with(code);
  return sched::EngineEntry::give_back() ? code : end_loan_with(code);
}

/// As give_back_with(), in a call that has not switched since it has entered by a loan.
[[gnu::always_inline]] inline int give_back_loan_with(int code) {
  if (!sched::EngineEntry::leaves_at_once()) return leave_with(code);
  return sched::EngineEntry::give_back() ? code : end_loan_with(code);
}

}  // namespace fgmpi::mpi

/// Stands first in a binding, or on its slow path. `again` is the same call, which is recorded as
/// the rank's last. Arguments are captured by value: references to them would force them into
/// memory instead of registers, in the fast path too.
#define FGMPI_TAKE_TURN(call, again)                              \
  if (__builtin_expect(::fgmpi::sched::outside(), 0))             \
    return ::fgmpi::mpi::run_inside(call, [=] { return again; }); \
  ::fgmpi::sched::record_call(call)
