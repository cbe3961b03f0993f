// EventQueue: what will happen, in the order of virtual time.
//
// Events at the same time happen in the order of their ranks, then of their numbers among the
// events of the rank that made them. So the order does not depend on the order in which the events
// were added, and a prediction repeats exactly.
//
// Thread rule: one thread; nothing here switches.
#pragma once

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
  bool empty() const { return heap_.empty(); }
  const Event& first() const { return heap_.front(); }
  size_t size() const { return heap_.size(); }

  void push(const Event& e) {
    size_t i = heap_.size();
    heap_.push_back(e);
    while (i > 0) {
      const size_t parent = (i - 1) / kChildren;
      if (!before(e, heap_[parent])) break;
      heap_[i] = heap_[parent];
      i = parent;
    }
    heap_[i] = e;
  }

  Event pop() {
    const Event first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    const size_t n = heap_.size();
    if (n == 0) return first;
    size_t i = 0;
    for (;;) {
      const size_t child = i * kChildren + 1;
      if (child >= n) break;
      size_t least = child;
      const size_t end = child + kChildren < n ? child + kChildren : n;
      for (size_t c = child + 1; c < end; ++c)
        if (before(heap_[c], heap_[least])) least = c;
      if (!before(heap_[least], last)) break;
      heap_[i] = heap_[least];
      i = least;
    }
    heap_[i] = last;
    return first;
  }

 private:
  /// Four children a node: half as many levels as with two, and their events share two lines.
  static constexpr size_t kChildren = 4;
  static bool before(const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  }
  std::vector<Event> heap_;
};

}  // namespace fgmpi::predict
