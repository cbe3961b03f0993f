// A proclet that waits for something of another job, with a deadline.
//
// Such a wait is no part of a deadlock: what ends it comes from outside of this job.
// Thread rule: one thread. wait() switches, the rest does not.
#pragma once

#include <cstdint>
#include <string>

#include "proclet-sched/sched.h"

namespace fgmpi::dynamic {

class Waiter {
 public:
  Waiter() = default;
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Parks the running proclet until wake(), or until `deadline` (of now_ns()). REQUIRES: nobody
  /// waits here.
  void wait(int64_t deadline, const char* call,
            void (*describe)(const sched::WaitSite*, std::string*));
  /// Nothing when nobody waits.
  void wake();

  /// Wakes those whose time is over, true if there was one; how long until the next one's is (ns).
  static bool check_deadlines();
  static int64_t until_next_deadline();

 private:
  sched::Proclet* proclet_ = nullptr;
  int64_t deadline_ = INT64_MAX;
};

}  // namespace fgmpi::dynamic
