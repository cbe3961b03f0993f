// ReserveCount: how many objects a pool retains for reuse, and how many of them a trimmer
// (proclet-sched/sched.h) frees.
//
// The rule: objects that were in the pool all the time since the last trim were not needed and are
// freed, except for a fixed number. So a pool that is emptied and filled again and again retains
// what it needs, and the memory of one burst is freed by the second trim after it. (Pools whose
// fast path must not count use chunks: pt2pt/pool.h.)
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fgmpi {

class ReserveCount {
 public:
  uint32_t count() const { return count_; }
  /// Counts an object that is returned to the pool.
  void put() { ++count_; }
  /// Counts an object that leaves the pool. REQUIRES: count() > 0.
  void take() { least_ = std::min(least_, --count_); }

  /// Called at a trim: returns how many objects the caller has to free, and no longer counts them.
  /// 0 unless more than `threshold` objects were idle since the last call; then all of these except
  /// `kept`. REQUIRES: kept <= threshold.
  uint32_t release_excess(uint32_t kept, uint32_t threshold) {
    const uint32_t excess = least_ > threshold ? least_ - kept : 0;
    least_ = count_ -= excess;
    return excess;
  }
  /// True when the next trim will free objects, unless they are needed before.
  bool has_more_than(uint32_t threshold) const { return count_ > threshold; }

 private:
  uint32_t count_ = 0;
  uint32_t least_ = 0;  ///< the least count() since the last release_excess()
};

}  // namespace fgmpi
