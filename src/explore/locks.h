// The locks of a window's memory that ranks have held, for ranks that wait for one.
//
// Thread rule: none (no shared state).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "explore/event_set.h"

namespace fgmpi::explore {

class Locks {
 public:
  void got(uint32_t rank, uint32_t event, bool exclusive) {
    ++changes_;
    locks_.push_back({rank, event, exclusive, true, {}});
  }
  /// The rank releases the last lock that it has acquired. `past`: the events that had
  /// to happen before.
  void given_back(uint32_t rank, const EventSet& past) {
    ++changes_;
    for (size_t i = locks_.size(); i-- > 0;)
      if (locks_[i].held && locks_[i].rank == rank) {
        locks_[i].held = false;
        locks_[i].given_back = past;
        return;
      }
  }
  uint64_t changes() const { return changes_; }
  /// The events without which a waiting rank could have the lock: those that acquired a lock which
  /// is still held, or whose release depends on another such event.
  EventSet in_the_way(uint32_t rank, bool exclusive) const {
    EventSet events;
    for (bool more = true; more;) {
      more = false;
      for (const AcquiredLock& lock : locks_) {
        if (lock.rank == rank || !(exclusive || lock.exclusive) || events.has(lock.event)) continue;
        if (!lock.held && !lock.given_back.meets(events)) continue;
        events.add(lock.event);
        more = true;
      }
    }
    return events;
  }

 private:
  struct AcquiredLock {
    uint32_t rank, event;
    bool exclusive, held;
    EventSet given_back;
  };
  std::vector<AcquiredLock> locks_;
  uint64_t changes_ = 0;
};

}  // namespace fgmpi::explore
