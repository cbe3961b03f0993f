// CoreDemand: do other processes want the cores that this process polls on?
//
// A process that polls on a core which others want loses it at the end of its time slice, and gets
// it back some milliseconds later: long after the message that it waits for has arrived. A process
// that sleeps instead gets a core as soon as its message arrives (two processes beside 16 busy ones
// on 2 cores: a round trip takes 0.05 ms asleep, 2 ms while polling). The kernel counts how often
// it took the core from this process. Polling stops while that happens more than once in kWithin of
// processor time: at first for kShortestHold, and for twice as long each time that polling is tried
// again in vain.
//
// Thread rule: one thread at a time. Cost: one system call every kBetweenLooks.
#pragma once

#include <cstdint>

namespace fgmpi::transport {

class CoreDemand {
 public:
  /// True: a waiting caller should sleep at once. `now`: now_ns().
  bool is_high(int64_t now) {
    if (now >= next_look_) look(now);
    return holds(now);
  }
  /// Like is_high(), without asking the kernel again.
  bool holds(int64_t now) const { return now < until_; }
  /// Evaluates the kernel's counts so far: how often it took the core, and ns of processor time.
  void judge(int64_t now, int64_t taken, int64_t used);

  static constexpr int64_t kBetweenLooks = 2'000'000;
  static constexpr int64_t kWithin = 20'000'000;
  static constexpr int64_t kShortestHold = 20'000'000, kLongestHold = 640'000'000;

 private:
  void look(int64_t now);

  int64_t next_look_ = 0, until_ = 0, hold_ = kShortestHold;
  int64_t taken_ = -1, used_ = 0;  ///< values at which the present count begins
};

}  // namespace fgmpi::transport
