// EventQueue: what will happen, in the order of virtual time.
//
// Events at the same time happen in the order of their ranks, then of their numbers among the
// events of the rank that made them. So the order does not depend on the order in which the events
// were added, and a prediction repeats exactly.
//
// Nothing is added before the event that was taken last (base_), so a radix heap serves: events are
// in groups by the highest bit in which their times differ from base_, and a group is only looked
// at when it is the first:
//
//   base_ 1000    group 0: 1001    group 1: 1010, 1011    group 2: 1100 ... 1111    ...
//
// An event moves to lower groups as time goes on, a few times, in memory that is read in order: a
// third of the instructions of a heap with 10,000 events. Source: Ahuja, Mehlhorn, Orlin, Tarjan,
// "Faster algorithms for the shortest path problem", JACM 37(2), 1990.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "predict/machine.h"

namespace fgmpi::predict {

struct PredictedTransfer;

struct Event {
  enum What : uint32_t {
    kSend,    ///< a transfer is given to its sender's port
    kReach,   ///< its first byte reaches the receiver's port
    kArrive,  ///< its last byte has arrived
    kClear,   ///< the receiver's permission to send the data has reached the sender
    kSent,    ///< its last byte has left the sender's memory
    kFinish,  ///< the schedule of a rank's collective has ended
    kWake,    ///< a rank looks again
  };
  VirtualTime at;
  uint64_t order;  ///< rank 32 | number 32
  PredictedTransfer* transfer;
  What what;
  uint32_t rank;
};

class EventQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  /// When the first event happens; kNever: there is none.
  VirtualTime first_time() const { return first_; }

  /// REQUIRES: e.at is not before the event that was taken last.
  void push(const Event& e) {
    ++size_;
    if (e.at < first_) first_ = e.at;
    if (e.at == base_) return push_present(e);
    put(e);
  }

  Event pop() {
    if (next_ == present_.size()) spread();
    --size_;
    const Event first = present_[next_++];
    if (next_ == present_.size()) {
      present_.clear();
      next_ = 0;
      first_ = find_first();
    }
    return first;
  }

 private:
  /// The group of a time after base_: the place of the highest bit in which both differ.
  int group_of(VirtualTime at) const {
    return 63 - std::countl_zero(static_cast<uint64_t>(at) ^ static_cast<uint64_t>(base_));
  }
  void put(const Event& e) {
    const int group = group_of(e.at);
    groups_[group].push_back(e);
    filled_ |= uint64_t{1} << group;
  }
  /// Most events at one time are added in their order.
  void push_present(const Event& e) {
    auto place = present_.end();
    while (place != present_.begin() + static_cast<ptrdiff_t>(next_) && e.order < place[-1].order)
      --place;
    present_.insert(place, e);
  }
  /// Moves the events of the first group to present_ and to the groups below it.
  void spread() {
    const int group = std::countr_zero(filled_);
    filled_ &= filled_ - 1;
    base_ = first_;
    std::vector<Event>& from = groups_[group];
    bool in_order = true;
    for (const Event& e : from) {
      if (e.at != base_) {
        put(e);
        continue;
      }
      in_order &= present_.empty() || present_.back().order < e.order;
      present_.push_back(e);
    }
    from.clear();
    if (!in_order)
      std::sort(present_.begin(), present_.end(),
                [](const Event& a, const Event& b) { return a.order < b.order; });
  }
  VirtualTime find_first() const {
    if (filled_ == 0) return kNever;
    VirtualTime first = kNever;
    for (const Event& e : groups_[std::countr_zero(filled_)]) first = std::min(first, e.at);
    return first;
  }

  VirtualTime base_ = 0, first_ = kNever;
  size_t size_ = 0, next_ = 0;
  std::vector<Event> present_;  ///< at base_, in order; those before next_ have been taken
  std::array<std::vector<Event>, 63> groups_;
  uint64_t filled_ = 0;  ///< a bit for each group with events
};

}  // namespace fgmpi::predict
