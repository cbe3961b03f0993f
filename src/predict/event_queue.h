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
// lower levels, once or twice. A group with few becomes the next ones as a whole: near_, in order.
// What is added before the end of that group's times (near_end_) goes there, too.
//
// An event is a part of what it happens to, so that the queue allocates nothing: the events of a
// group are a chain of them.
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
#include <memory>
#include <utility>
#include <vector>

#include "predict/event_groups.h"
#include "predict/virtual_time.h"

namespace fgmpi::predict {

/// `Event` has these members, which belong to the queue from push() to pop():
///   VirtualTime at;           when it happens
///   Event* next;              used by the queue alone
///   uint64_t order() const;   rank 32 | number 32: unique
template <class Event>
class EventQueue {
 public:
  bool empty() const { return first_ == kNever; }
  /// When the first event happens; kNever: there is none.
  VirtualTime first_time() const { return first_; }
  /// How many events have been added.
  uint64_t pushed() const { return pushed_; }

  /// REQUIRES: e->at is not before the event that was taken last, and before kNever.
  [[gnu::always_inline]] void push(Event* e) {
    ++pushed_;
    if (e->at < first_) first_ = e->at;
    if (static_cast<uint64_t>(e->at) < near_end_) return push_near(e);
    put(e);
  }

  /// REQUIRES: there is one.
  Event* pop() {
    if (next_ == last_) spread();
    Event* const first = next_++->event;
    if (__builtin_expect(next_ != last_, 1)) {
      first_ = next_->at;
    } else {
      next_ = last_ = near_.data();
      first_ = levels_ ? groups_[first_group()].first : kNever;
    }
    return first;
  }

 private:
  using Group = EventGroup<Event>;
  /// An event before near_end_.
  struct NearEvent {
    VirtualTime at;
    uint64_t order;
    Event* event;
    /// Time and order in one number: a comparison needs no branch.
    unsigned __int128 key() const { return static_cast<unsigned __int128>(at) << 64 | order; }
    bool operator<(const NearEvent& other) const { return key() < other.key(); }
  };
  struct FreeGroups {
    void operator()(Group* groups) const { std::free(groups); }
  };
  /// Groups of the second level have times of 2 ns, and all of them 4 us. Latencies are mostly
  /// shorter, so that events move to another group once, if at all.
  static constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits, kLevels = 6;
  static_assert(kLevels * kDigitBits >= 63);
  /// So many events are put in order one by one: to move them to lower levels takes longer.
  static constexpr uint64_t kFewEvents = 8;

  [[gnu::noinline]] void put(Event* e) {
    const uint64_t at = static_cast<uint64_t>(e->at);
    const int level = (63 - std::countl_zero(at ^ static_cast<uint64_t>(base_))) / kDigitBits;
    const size_t digit = at >> (level * kDigitBits) & (kDigits - 1);
    Group& group = groups_[static_cast<size_t>(level) * kDigits + digit];
    if (group.last) return group.add(e);
    group.begin(e);
    digits_[static_cast<size_t>(level)].add(digit);
    levels_ |= static_cast<uint8_t>(1u << level);
  }
  /// The first group with events. REQUIRES: there is one.
  size_t first_group() const {
    const auto level = static_cast<size_t>(std::countr_zero(levels_));
    return level * kDigits + digits_[level].first();
  }
  /// Makes room for so many events in near_.
  [[gnu::noinline]] void grow_near(size_t count) {
    const auto taken = next_ - near_.data(), used = last_ - near_.data();
    near_.resize(std::max<size_t>({64, 2 * near_.size(), count}));
    next_ = near_.data() + taken;
    last_ = near_.data() + used;
  }
  NearEvent* add_near(Event* e) {
    if (__builtin_expect(last_ == near_.data() + near_.size(), 0)) grow_near(0);
    *last_ = {e->at, e->order(), e};
    return last_++;
  }
  /// Most events are added in their order.
  [[gnu::noinline]] void push_near(Event* e) {
    NearEvent* const place = add_near(e);
    if (place != next_ && *place < place[-1]) sort_in(place);
  }
  /// Moves an event forward to its place. REQUIRES: the one before it is later.
  void sort_in(NearEvent* place) {
    const NearEvent added = *place;
    do {
      *place = place[-1];
    } while (--place != next_ && added < place[-1]);
    *place = added;
  }
  /// Moves the events of the first group to near_, or to the groups of lower digits, too.
  void spread() {
    const size_t number = first_group(), level = number / kDigits;
    Group& from = groups_[number];
    base_ = from.first;
    // All times of the group, or the first one alone.
    const bool has_few = from.count <= kFewEvents;
    const uint64_t times = has_few ? uint64_t{1} << (level * kDigitBits) : 1;
    near_end_ = (static_cast<uint64_t>(base_) & ~(times - 1)) + times;
    digits_[level].remove(number % kDigits);
    if (!digits_[level].filled) levels_ &= static_cast<uint8_t>(levels_ - 1);
    Event* const last = std::exchange(from.last, nullptr);
    if (has_few) {
      take_events(last, from.count);
      for (NearEvent* place = next_ + 1; place < last_; ++place)
        if (*place < place[-1]) sort_in(place);
    } else {
      put_all(last);
      if (!std::is_sorted(next_, last_)) std::sort(next_, last_);
    }
  }
  /// Moves the events of a group to near_ and to others, in the order of adding.
  void put_all(Event* e) {
    Event* first = nullptr;
    while (e) {
      Event* const next = std::exchange(e->next, first);
      first = std::exchange(e, next);
    }
    while (first) {
      Event* const next = first->next;
      if (static_cast<uint64_t>(first->at) < near_end_)
        add_near(first);
      else
        put(first);
      first = next;
    }
  }
  /// Moves so many events to near_, in the order of adding.
  void take_events(Event* e, uint64_t count) {
    if (__builtin_expect(near_.size() < count, 0)) grow_near(count);
    last_ = next_ + count;
    for (NearEvent* place = last_; e; e = e->next) *--place = {e->at, e->order(), e};
  }

  VirtualTime base_ = 0, first_ = kNever;
  uint64_t near_end_ = 1, pushed_ = 0;
  std::vector<NearEvent> near_;
  /// The events before near_end_ that have not been taken yet, in order.
  NearEvent *next_ = nullptr, *last_ = nullptr;
  /// Memory of groups that are never used is never touched.
  std::unique_ptr<Group[], FreeGroups> groups_{
      static_cast<Group*>(std::calloc(size_t{kLevels} * kDigits, sizeof(Group)))};
  std::array<GroupSet, kLevels> digits_{};
  uint8_t levels_ = 0;  ///< a bit for each level with groups with events
};

}  // namespace fgmpi::predict
