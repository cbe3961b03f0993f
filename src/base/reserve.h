// ReserveCount: how many objects a pool keeps for reuse, and how many of them a trimmer
// (proclet-sched/sched.h) frees.
//
// The rule: objects that were in the pool all the time since the last trim were not needed and are
// freed, but for a number that the pool always keeps. So a pool that is emptied and filled again
// and again keeps what it needs, and one burst is given back by the second trim after it. (Pools
// whose fast path must not count use chunks: pt2pt/pool.h.)
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fgmpi {

class ReserveCount {
 public:
  uint32_t count() const { return count_; }
  /// An object comes to the pool.
  void put() { ++count_; }
  /// One leaves it to be used. REQUIRES: count() > 0.
  void take() { least_ = std::min(least_, --count_); }

  /// A trim: the number of objects that the caller frees now; they are no longer counted. 0 unless
  /// more than `threshold` were idle since the last call, else all of these but `kept`. REQUIRES:
  /// kept <= threshold.
  uint32_t take_excess(uint32_t kept, uint32_t threshold) {
    const uint32_t excess = least_ > threshold ? least_ - kept : 0;
    least_ = count_ -= excess;
    return excess;
  }
  /// Whether the next trim will free some unless they are needed before.
  bool has_more_than(uint32_t threshold) const { return count_ > threshold; }

 private:
  uint32_t count_ = 0;
  uint32_t least_ = 0;  ///< the least count() since the last take_excess()
};

}  // namespace fgmpi
