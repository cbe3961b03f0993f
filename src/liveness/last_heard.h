// When other processes were last heard, by messages that prove their sender: datagrams of the
// multicast, whose tags are made with a key that only the job has. A connection may get no answer
// for long where a network drops much of what is sent; a process that was heard meanwhile can
// still be reached.
//
// Thread rule: one thread. Nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

namespace fgmpi::liveness {

class LastHeard {
 public:
  void record(uint32_t process, int64_t now) {
    if (process >= at_.size()) at_.resize(process + 1, kNever);
    at_[process] = now;
  }
  /// Was the process heard in the last `ns` before `now`?
  bool is_recent(uint32_t process, int64_t now, int64_t ns) const {
    return process < at_.size() && at_[process] != kNever && now - at_[process] < ns;
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  std::vector<int64_t> at_;  ///< ns, by process; kNever: not heard
};

/// The times of this process. Never destroyed.
inline LastHeard& last_heard() {
  static LastHeard& all = *new LastHeard;
  return all;
}

}  // namespace fgmpi::liveness
