// CoreDemand: do other processes want the cores that this process polls on?
//
// A thread that polls on a core which others want loses it at the end of its time slice, and gets
// it back some milliseconds later: long after the message that it waits for has arrived. A thread
// that sleeps instead gets a core as soon as its message arrives (two processes beside 16 busy ones
// on 2 cores: a round trip takes 0.05 ms asleep, 2 ms while polling). The kernel measures how long
// a thread was able to run but had no core. Polling stops once that is kLeastDelay and half the
// time for which the thread ran: at first for kShortestHold, and for twice as long each time that
// polling is tried again in vain.
//
// (How often the kernel takes the core does not tell: each yield of a polling thread counts, and so
// do the microseconds in which the kernel itself needs the core. On an idle machine, round trips
// over sockets took 140 us in place of 15 when that was asked.)
//
// Thread rule: one thread at a time. Cost: three system calls every kBetweenLooks.
#pragma once

#include <cstdint>

namespace fgmpi::transport {

class CoreDemand {
 public:
  /// True: a waiting caller should sleep at once. `now`: now_ns().
  bool is_high(int64_t now) {
    if (now >= next_check_) measure(now);
    return holds(now);
  }
  /// Like is_high(), without asking the kernel again.
  bool holds(int64_t now) const { return now < until_; }
  /// Evaluates the kernel's sums for thread `thread` so far, in ns: how long it waited for a core,
  /// and how long it ran.
  void judge(int64_t now, int64_t thread, int64_t delayed, int64_t ran);

  static constexpr int64_t kBetweenLooks = 2'000'000;
  static constexpr int64_t kLeastDelay = 4'000'000;  ///< a slice of another process
  static constexpr int64_t kWithin = 20'000'000;     ///< ns of running after which a count ends
  static constexpr int64_t kShortestHold = 20'000'000, kLongestHold = 640'000'000;

 private:
  void measure(int64_t now);

  int64_t next_check_ = 0, until_ = 0, hold_ = kShortestHold;
  int64_t thread_ = -1, delayed_ = 0, ran_ = 0;  ///< values at which the present count begins
};

}  // namespace fgmpi::transport
