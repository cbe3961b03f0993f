// Waits for descriptors, for any number of proclets by one thread, so that the other proclets of
// the process run meanwhile.
//
//   proclet: wait_for_descriptors() --> list --> the thread: poll() of what all of them wait for
//            parked  <------ post_completion() <------  one is ready, the time is over, a handler runs
//
// The thread only polls: the proclet itself makes the call that it has waited for, and so has its
// error numbers, signals and locks as without. The thread begins with the first wait; a trimmer
// ends it when nobody has waited for a while.
//
// Thread rule: wait_for_descriptors(): inside (threads.h), on a proclet of the scheduler's thread;
// the rest on any thread.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fgmpi::sched {

/// How many handlers of a rank have run: all, and those without SA_RESTART.
struct Interruptions {
  uint32_t all = 0, not_restarting = 0;
};
/// The same while they run; one for each rank that has handlers or waits.
struct InterruptionCounts {
  std::atomic<uint32_t> all{0}, not_restarting{0};
  Interruptions read() const { return {all.load(), not_restarting.load()}; }
};
/// A handler runs: waits with these counts that it interrupts end. Async-signal-safe.
void count_interruption(InterruptionCounts* counts, bool restarting);

struct DescriptorWait {
  const char* call;                  ///< for reports
  const pollfd* fds;                 ///< not in memory that is a rank's only while it runs
  size_t count;                      ///< 0: only time and handlers end the wait
  int64_t deadline;                  ///< of now_ns(); INT64_MAX: none
  const InterruptionCounts* counts;  ///< of the handlers that end the wait
  Interruptions since;               ///< those that have run since then do
  bool restarts;                     ///< those with SA_RESTART do not
};
bool is_interrupted(const DescriptorWait& wait);

enum class WaitEnd : uint8_t { kReady, kTimeOver, kInterrupted };

/// Lets other proclets run until poll() of these would say that one is ready, or one of the other
/// ends has come. May say kReady too early, also where no thread is to be had: after a while. May
/// switch. REQUIRES: !on_host_stack().
WaitEnd wait_for_descriptors(const DescriptorWait& wait);

/// Whether the thread exists (tests).
bool polls_descriptors();

}  // namespace fgmpi::sched
