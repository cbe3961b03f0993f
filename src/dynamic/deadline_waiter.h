// A proclet that waits, with a deadline, for another job.
//
// The wait is not part of a deadlock: what ends it comes from outside of this job.
// Thread rule: one thread. wait() switches, the other functions do not.
#pragma once

#include <cstdint>
#include <string>

#include "proclet-sched/sched.h"

namespace fgmpi::dynamic {

class DeadlineWaiter {
 public:
  DeadlineWaiter() = default;
  ~DeadlineWaiter();
  DeadlineWaiter(const DeadlineWaiter&) = delete;
  DeadlineWaiter& operator=(const DeadlineWaiter&) = delete;

  /// Parks the running proclet until wake(), or until `deadline` (of now_ns()). REQUIRES: no
  /// proclet waits here.
  void wait(int64_t deadline, const char* call,
            void (*describe)(const sched::WaitSite*, std::string*));
  /// Wakes the proclet that waits here, if there is one.
  void wake();

  /// check_deadlines() wakes the proclets whose time is over, and returns true if there was one.
  /// until_next_deadline() returns the time in ns until the next deadline.
  static bool check_deadlines();
  static int64_t until_next_deadline();

 private:
  sched::Proclet* proclet_ = nullptr;
  int64_t deadline_ = INT64_MAX;
};

}  // namespace fgmpi::dynamic
