// EventQueue: what will happen, in the order of virtual time.
//
// Events at the same time happen in the order of their ranks, then of their numbers among the
// events of the rank that made them. So the order does not depend on the order in which the events
// were added, and a prediction repeats exactly.
//
// Nothing is added before the event that was taken last, so a radix heap serves: events are in
// groups by the highest digit in which their times differ from base_, and by the value of that
// digit. A group is only looked at when it is the first:
//
//   base_ 0x3fe8    level 0: 0x3fe9 ... 0x3fff    level 1: 0x40.. ... 0xff..   level 2: 0x1.... ...
//
// From a group with many events those at its first time become the next ones; the others move to
// lower levels, once or twice, in memory that is read in order. A group with few becomes the next
// ones as a whole: near_, in order. What is added before the end of that group's times (near_end_)
// goes there, too.
// Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem", JACM
// 37(2), 1990.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
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
    if (static_cast<uint64_t>(e.at) < near_end_) return push_near(e);
    put(e);
  }

  /// REQUIRES: there is one.
  Event pop() {
    if (next_ == near_.size()) spread();
    --size_;
    const Event first = near_[next_++];
    if (next_ < near_.size()) {
      first_ = near_[next_].at;
    } else {
      near_.clear();
      next_ = 0;
      first_ = levels_ ? groups_[first_group()].first : kNever;
    }
    return first;
  }

 private:
  /// Some events of a group.
  struct EventChunk {
    static constexpr uint32_t kMost = 7;
    EventChunk* next;
    uint32_t count = 0;
    std::array<Event, kMost> events;
  };
  /// The events of one group.
  struct EventGroup {
    EventChunk* last;   ///< of a ring of chunks, in the order of adding; nullptr: there are none
    VirtualTime first;  ///< the earliest time of them
  };
  struct FreeGroups {
    void operator()(EventGroup* groups) const { std::free(groups); }
  };
  /// Groups of the second level have times of 2 ns, and all of them 4 us. Latencies are mostly
  /// shorter, so that events move to another group once, if at all.
  static constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits, kLevels = 6;
  static_assert(kLevels * kDigitBits >= 63);

  /// A bit for each group of a level that has events, and one for each word with such bits.
  struct DigitSet {
    std::array<uint64_t, kDigits / 64> words{};
    uint32_t filled = 0;
    static_assert(kDigits / 64 <= 32);
    void add(size_t digit) {
      words[digit / 64] |= uint64_t{1} << digit % 64;
      filled |= uint32_t{1} << digit / 64;
    }
    /// REQUIRES: there is one.
    size_t first() const {
      const auto word = static_cast<size_t>(std::countr_zero(filled));
      return word * 64 + static_cast<size_t>(std::countr_zero(words[word]));
    }
    /// Returns whether any is left.
    bool remove_first() {
      const auto word = static_cast<size_t>(std::countr_zero(filled));
      if (!(words[word] &= words[word] - 1)) filled &= filled - 1;
      return filled != 0;
    }
  };

  void put(const Event& e) {
    const uint64_t at = static_cast<uint64_t>(e.at);
    const int level = (63 - std::countl_zero(at ^ static_cast<uint64_t>(base_))) / kDigitBits;
    const size_t digit = at >> (level * kDigitBits) & (kDigits - 1);
    EventGroup& group = groups_[static_cast<size_t>(level) * kDigits + digit];
    EventChunk* chunk = group.last;
    if (!chunk) {
      digits_[static_cast<size_t>(level)].add(digit);
      levels_ |= static_cast<uint8_t>(1u << level);
      group.first = e.at;
    }
    if (!chunk || chunk->count == EventChunk::kMost) chunk = group.last = new_chunk(chunk);
    chunk->events[chunk->count++] = e;
    group.first = std::min(group.first, e.at);
  }
  /// Adds a chunk to a ring whose last one is given, or makes a ring.
  EventChunk* new_chunk(EventChunk* last) {
    EventChunk* chunk = free_;
    if (chunk)
      free_ = chunk->next;
    else
      chunk = &chunks_.emplace_back();
    chunk->next = last ? std::exchange(last->next, chunk) : chunk;
    chunk->count = 0;
    return chunk;
  }
  /// The first group with events. REQUIRES: there is one.
  size_t first_group() const {
    const auto level = static_cast<size_t>(std::countr_zero(levels_));
    return level * kDigits + digits_[level].first();
  }
  /// Time and order in one number: a comparison needs no branch.
  static unsigned __int128 key_of(const Event& e) {
    return static_cast<unsigned __int128>(e.at) << 64 | e.order;
  }
  static bool is_before(const Event& a, const Event& b) { return key_of(a) < key_of(b); }
  /// Most events are added in their order.
  void push_near(const Event& e) {
    near_.push_back(e);
    Event *place = &near_.back(), *const first = near_.data() + next_;
    for (; place != first && is_before(e, place[-1]); --place) *place = place[-1];
    *place = e;
  }
  /// All events of a group become the next ones.
  void spread_small(EventChunk* chunk) {
    for (uint32_t i = 0; i < chunk->count; ++i) push_near(chunk->events[i]);
    chunk->next = free_;
    free_ = chunk;
  }
  /// Moves the events of the first group to near_, or to the groups of lower digits, too.
  void spread() {
    const size_t number = first_group(), level = number / kDigits;
    EventGroup& from = groups_[number];
    base_ = from.first;
    // The first time of the group alone, or all of its times.
    EventChunk* const last = std::exchange(from.last, nullptr);
    const bool is_small = last->next == last;
    const uint64_t times = is_small ? uint64_t{1} << (level * kDigitBits) : 1;
    near_end_ = (static_cast<uint64_t>(base_) & ~(times - 1)) + times;
    if (!digits_[level].remove_first()) levels_ &= static_cast<uint8_t>(levels_ - 1);
    if (is_small) return spread_small(last);
    bool in_order = true;
    EventChunk* chunk = std::exchange(last->next, nullptr);
    while (chunk) {
      for (uint32_t i = 0; i < chunk->count; ++i) {
        const Event& e = chunk->events[i];
        if (static_cast<uint64_t>(e.at) >= near_end_) {
          put(e);
          continue;
        }
        in_order &= near_.empty() || is_before(near_.back(), e);
        near_.push_back(e);
      }
      EventChunk* const next = chunk->next;
      chunk->next = free_;
      free_ = chunk;
      chunk = next;
    }
    if (!in_order) std::sort(near_.begin(), near_.end(), is_before);
  }

  VirtualTime base_ = 0, first_ = kNever;
  uint64_t near_end_ = 1;
  size_t size_ = 0, next_ = 0;
  std::vector<Event> near_;  ///< before near_end_, in order; those before next_ have been taken
  /// Memory of groups that are never used is never touched.
  std::unique_ptr<EventGroup[], FreeGroups> groups_{
      static_cast<EventGroup*>(std::calloc(size_t{kLevels} * kDigits, sizeof(EventGroup)))};
  std::deque<EventChunk> chunks_;
  EventChunk* free_ = nullptr;
  std::array<DigitSet, kLevels> digits_{};
  uint8_t levels_ = 0;  ///< a bit for each level with groups with events
};

}  // namespace fgmpi::predict
