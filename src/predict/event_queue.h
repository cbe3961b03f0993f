// EventQueue: what will happen, in the order of virtual time.
//
// Events at the same time happen in the order of their ranks, then of their numbers among the
// events of the rank that made them. So the order does not depend on the order in which the events
// were added, and a prediction repeats exactly.
//
// Nothing is added before the event that was taken last (base_), so a radix heap serves: events are
// in groups by the highest digit in which their times differ from base_, and by the value of that
// digit. A group is only looked at when it is the first:
//
//   base_ 0x3fe8    level 0: 0x3fe9 ... 0x3fff    level 1: 0x40.. ... 0xff..   level 2: 0x1.... ...
//
// An event moves to lower levels as time goes on, once or twice, in memory that is read in order.
// Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem", JACM
// 37(2), 1990.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <utility>
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
  Event() = default;
  Event(VirtualTime when, uint64_t order_of_event, What what, PredictedTransfer* transfer)
      : at(when),
        order(order_of_event),
        transfer_and_what_(reinterpret_cast<uintptr_t>(transfer) | what) {}

  What what() const { return static_cast<What>(transfer_and_what_ & kWhatMask); }
  PredictedTransfer* transfer() const {
    return reinterpret_cast<PredictedTransfer*>(transfer_and_what_ & ~kWhatMask);
  }
  uint32_t rank() const { return static_cast<uint32_t>(order >> 32); }

  VirtualTime at;
  uint64_t order;  ///< rank 32 | number 32

 private:
  static constexpr uintptr_t kWhatMask = 7;  ///< transfers are aligned to 8 bytes
  uintptr_t transfer_and_what_;
};
static_assert(sizeof(Event) == 24, "memory budget: several a rank are to come");

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
      first_ = levels_ ? groups_[first_group()].first : kNever;
    }
    return first;
  }

 private:
  /// Some events of a group.
  struct EventChunk {
    static constexpr uint32_t kMost = 15;
    EventChunk* next;
    uint32_t count = 0;
    std::array<Event, kMost> events;
  };
  /// The events of one group, and the earliest time of them.
  struct EventGroup {
    EventChunk* chunks = nullptr;  ///< the latest first
    VirtualTime first = kNever;
  };
  static constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kLevels = 64 / kDigitBits;

  /// A bit for each group of a level that has events.
  using DigitSet = std::array<uint64_t, kDigits / 64>;

  void put(const Event& e) {
    const uint64_t at = static_cast<uint64_t>(e.at);
    const int level = (63 - std::countl_zero(at ^ static_cast<uint64_t>(base_))) / kDigitBits;
    const size_t digit = at >> (level * kDigitBits) & (kDigits - 1);
    EventGroup& group = groups_[static_cast<size_t>(level) * kDigits + digit];
    EventChunk* chunk = group.chunks;
    if (!chunk || chunk->count == EventChunk::kMost) {
      digits_[static_cast<size_t>(level)][digit / 64] |= uint64_t{1} << digit % 64;
      levels_ |= static_cast<uint8_t>(1u << level);
      chunk = group.chunks = new_chunk(chunk);
    }
    chunk->events[chunk->count++] = e;
    group.first = std::min(group.first, e.at);
  }
  EventChunk* new_chunk(EventChunk* next) {
    EventChunk* chunk = free_;
    if (chunk)
      free_ = chunk->next;
    else
      chunk = &chunks_.emplace_back();
    chunk->next = next;
    chunk->count = 0;
    return chunk;
  }
  /// The first group with events. REQUIRES: there is one.
  size_t first_group() const {
    const auto level = static_cast<size_t>(std::countr_zero(levels_));
    size_t word = 0;
    while (!digits_[level][word]) ++word;
    return level * kDigits + word * 64 +
           static_cast<size_t>(std::countr_zero(digits_[level][word]));
  }
  /// Most events at one time are added in their order.
  void push_present(const Event& e) {
    auto place = present_.end();
    while (place != present_.begin() + static_cast<ptrdiff_t>(next_) && e.order < place[-1].order)
      --place;
    present_.insert(place, e);
  }
  /// Moves the events of the first group to present_ and to the groups of lower digits.
  void spread() {
    const size_t number = first_group(), level = number / kDigits;
    EventGroup& from = groups_[number];
    base_ = from.first;
    from.first = kNever;
    DigitSet& digits = digits_[level];
    digits[number % kDigits / 64] &= digits[number % kDigits / 64] - 1;
    if (digits == DigitSet{}) levels_ &= static_cast<uint8_t>(levels_ - 1);
    bool in_order = true;
    for (EventChunk* chunk = std::exchange(from.chunks, nullptr); chunk;) {
      for (uint32_t i = 0; i < chunk->count; ++i) {
        const Event& e = chunk->events[i];
        if (e.at != base_) {
          put(e);
          continue;
        }
        in_order &= present_.empty() || present_.back().order < e.order;
        present_.push_back(e);
      }
      EventChunk* const next = chunk->next;
      chunk->next = free_;
      free_ = chunk;
      chunk = next;
    }
    if (!in_order)
      std::sort(present_.begin(), present_.end(),
                [](const Event& a, const Event& b) { return a.order < b.order; });
  }

  VirtualTime base_ = 0, first_ = kNever;
  size_t size_ = 0, next_ = 0;
  std::vector<Event> present_;  ///< at base_, in order; those before next_ have been taken
  std::array<EventGroup, size_t{kLevels} * kDigits> groups_;
  std::deque<EventChunk> chunks_;
  EventChunk* free_ = nullptr;
  std::array<DigitSet, kLevels> digits_{};
  uint8_t levels_ = 0;  ///< a bit for each level with groups with events
};

}  // namespace fgmpi::predict
