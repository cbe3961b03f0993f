// Waits for descriptors. One thread waits for any number of proclets, so that the other proclets of
// the process run meanwhile.
//
//   proclet: wait_for_descriptors() --> list --> the thread: poll() of all descriptors waited for
//            parked  <------ post_completion() <------  one is ready, the time is over, or a
//                                                       handler runs
//
// The thread only polls. The proclet itself makes the call that it has waited for, so error
// numbers, signals and locks are the same as without this module. The first wait starts the thread;
// a trimmer ends it when no proclet has waited for a while.
//
// Thread rule: wait_for_descriptors(): inside (threads.h), on a proclet of the scheduler's thread;
// the rest on any thread.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fgmpi::sched {

/// How many signal handlers of a rank have run: all, and those without SA_RESTART.
struct Interruptions {
  uint32_t all = 0, not_restarting = 0;
};
/// These counts while they change; one object for each rank that has handlers or waits.
struct InterruptionCounts {
  std::atomic<uint32_t> all{0}, not_restarting{0};
  Interruptions read() const { return {all.load(), not_restarting.load()}; }
};
/// Counts a handler that runs: waits with these counts that it interrupts end. Async-signal-safe.
void count_interruption(InterruptionCounts* counts, bool restarting);

struct DescriptorWait {
  const char* call;                  ///< for reports
  const pollfd* fds;                 ///< not in memory that is only there while the rank runs
  size_t count;                      ///< 0: only time and handlers end the wait
  int64_t deadline;                  ///< of now_ns(); INT64_MAX: none
  const InterruptionCounts* counts;  ///< of the handlers that end the wait
  Interruptions since;               ///< handlers that have run since then end the wait
  bool restarts;                     ///< handlers with SA_RESTART do not end it
};
bool is_interrupted(const DescriptorWait& wait);

enum class WaitEnd : uint8_t { kReady, kTimeOver, kInterrupted };

/// Lets other proclets run until poll() of the descriptors would return that one is ready, or the
/// wait ends in another way. May return kReady too early; where no thread can be started, it does
/// so after a while. May switch. REQUIRES: !on_host_stack().
WaitEnd wait_for_descriptors(const DescriptorWait& wait);

/// True while the thread exists; for tests.
bool polls_descriptors();

}  // namespace fgmpi::sched
