// CoreDemand: do others want the cores that this process polls on?
//
// A process that polls on a core which others want loses it at the end of its time slice, and gets
// it back some milliseconds later: whatever it was waiting for comes long before. A process that
// sleeps instead gets a core as soon as its message comes (two processes beside 16 busy ones on 2
// cores: 0.05 ms a round trip asleep, 2 ms while polling). The kernel counts how often it took the
// core from this process. Polling stops while that happens more than once in kWithin of processor
// time, for kShortestHold at first; each time that polling is tried again in vain for twice as
// long.
//
// Thread rule: one thread at a time. Cost: one system call every kBetweenLooks.
#pragma once

#include <cstdint>

namespace fgmpi::transport {

class CoreDemand {
 public:
  /// True: whoever waits had better sleep at once. `now`: now_ns().
  bool is_high(int64_t now) {
    if (now >= next_look_) look(now);
    return holds(now);
  }
  /// The same by what it has seen so far.
  bool holds(int64_t now) const { return now < until_; }
  /// Takes in what the kernel has counted so far: how often it took the core, and ns of processor
  /// time.
  void judge(int64_t now, int64_t taken, int64_t used);

  static constexpr int64_t kBetweenLooks = 2'000'000;
  static constexpr int64_t kWithin = 20'000'000;
  static constexpr int64_t kShortestHold = 20'000'000, kLongestHold = 640'000'000;

 private:
  void look(int64_t now);

  int64_t next_look_ = 0, until_ = 0, hold_ = kShortestHold;
  int64_t taken_ = -1, used_ = 0;  ///< where the present count begins
};

}  // namespace fgmpi::transport
