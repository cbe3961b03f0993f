// EventQueue: what will happen, in the order of virtual time.
//
// Events at the same time happen in the order of their ranks, then of their numbers among the
// events of the rank that made them. So the order does not depend on the order in which the events
// were added, and a prediction repeats exactly.
//
// Nothing is added before the event that was taken last, so a calendar serves, with a radix heap
// behind it:
//
//   near_    the events of the present slot, in order; what is added before near_end_ goes here
//   slots    kSlots of 4 ns each, one after the other from the present one on, as a ring: 16 us.
//            Latencies are mostly shorter, so most events are put into a slot, and never moved
//   fine     the events of the present slot by their time, where it has had many
//   far      what happens later, by the highest digit in which its time differs from far_base_,
//            and by the value of that digit
//
// When the first far event is in the first slot that has events, or before it, its group moves to
// the slots.
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
      first_ = first_of_groups();
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
  static constexpr int kSlotBits = 12;  ///< a slot has times of 4,096 ps
  static constexpr uint64_t kSlots = 4096, kFineGroups = uint64_t{1} << kSlotBits;
  static constexpr int kDigitBits = 11, kFarLevels = 4, kFarFrom = 22;
  static constexpr uint64_t kDigits = 1 << kDigitBits;
  static_assert(kFarFrom + kFarLevels * kDigitBits >= 63);
  static_assert(kFarFrom + 1 <= kSlotBits + 12,
                "a far group of the lowest level fits into the slots");
  /// So many events are put in order one by one: to divide them by their times takes longer.
  static constexpr uint64_t kFewEvents = 16;
  static constexpr uint64_t kFine = kSlots, kFar = kFine + kFineGroups,
                            kGroups = kFar + kFarLevels * kDigits;

  void put_into(uint64_t group, GroupSet* set, uint64_t i, Event* e) {
    if (groups_[group].last) return groups_[group].add(e);
    groups_[group].begin(e);
    set->add(i);
  }
  static uint64_t slot_of(VirtualTime at) { return static_cast<uint64_t>(at) >> kSlotBits; }
  [[gnu::noinline]] void put(Event* e) {
    const uint64_t at = static_cast<uint64_t>(e->at), slot = slot_of(e->at);
    if (__builtin_expect(slot - slot_ - 1 < kSlots - 1, 1))
      return put_into(slot % kSlots, &slots_, slot % kSlots, e);
    if (slot == slot_) return put_into(kFine + at % kFineGroups, &fine_, at % kFineGroups, e);
    put_far(e);
  }
  [[gnu::noinline]] void put_far(Event* e) {
    const uint64_t at = static_cast<uint64_t>(e->at);
    const int level = (63 - std::countl_zero(at ^ far_base_) - kFarFrom) / kDigitBits;
    const uint64_t digit = at >> (kFarFrom + level * kDigitBits) & (kDigits - 1);
    put_into(kFar + static_cast<uint64_t>(level) * kDigits + digit,
             &far_[static_cast<size_t>(level)], digit, e);
    levels_ |= static_cast<uint8_t>(1u << level);
  }
  /// The first group of far events. REQUIRES: there is one.
  uint64_t first_far() const {
    const auto level = static_cast<uint64_t>(std::countr_zero(levels_));
    return kFar + level * kDigits + far_[level].first();
  }
  /// The first slot with events. REQUIRES: there is one.
  uint64_t first_slot() const { return slots_.first_from((slot_ + 1) % kSlots); }
  VirtualTime first_of_groups() const {
    if (__builtin_expect(fine_.filled != 0, 0)) return groups_[kFine + fine_.first()].first;
    const VirtualTime slot = slots_.filled ? groups_[first_slot()].first : kNever;
    return __builtin_expect(levels_ != 0, 0) ? std::min(slot, groups_[first_far()].first) : slot;
  }
  /// Makes room for so many events in near_.
  [[gnu::noinline]] void grow_near(size_t count) {
    const auto taken = next_ - near_.data(), used = last_ - near_.data();
    near_.resize(std::max<size_t>({64, 2 * near_.size(), count}));
    next_ = near_.data() + taken;
    last_ = near_.data() + used;
  }
  /// Most events are added in their order.
  [[gnu::noinline]] void push_near(Event* e) {
    if (__builtin_expect(last_ == near_.data() + near_.size(), 0)) grow_near(0);
    NearEvent* const place = last_++;
    *place = {e->at, e->order(), e};
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
  /// Moves the events of the first group to near_. REQUIRES: there are some, and none in near_.
  void spread() {
    if (__builtin_expect(fine_.filled != 0, 0)) return spread_fine();
    if (__builtin_expect(levels_ != 0, 0)) spread_far();
    const uint64_t i = first_slot();
    Group& from = groups_[i];
    slots_.remove(i);
    slot_ = slot_of(from.first);
    Event* e = std::exchange(from.last, nullptr);
    if (__builtin_expect(from.count > kFewEvents, 0)) {
      near_end_ = slot_ << kSlotBits;
      put_all(e);
      return spread_fine();
    }
    near_end_ = (slot_ + 1) << kSlotBits;
    take_events(e, from.count);
    for (NearEvent* place = next_ + 1; place < last_; ++place)
      if (*place < place[-1]) sort_in(place);
  }
  /// Puts the events of a group into others, in the order of adding.
  void put_all(Event* e) {
    Event* first = nullptr;
    while (e) {
      Event* const next = std::exchange(e->next, first);
      first = std::exchange(e, next);
    }
    while (first) {
      Event* const next = first->next;
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
  /// Moves the events of the first time of the present slot.
  [[gnu::noinline]] void spread_fine() {
    const uint64_t i = fine_.first();
    Group& from = groups_[kFine + i];
    fine_.remove(i);
    near_end_ = static_cast<uint64_t>(from.first) + 1;
    take_events(std::exchange(from.last, nullptr), from.count);
    if (!std::is_sorted(next_, last_)) std::sort(next_, last_);
  }
  /// Moves groups of far events that are the first to the slots.
  [[gnu::noinline]] void spread_far() {
    while (levels_) {
      const uint64_t number = first_far(), level = (number - kFar) / kDigits;
      Group& from = groups_[number];
      // Events of the same slot may be among both.
      if (slots_.filled && slot_of(groups_[first_slot()].first) < slot_of(from.first)) return;
      far_[level].remove((number - kFar) % kDigits);
      if (!far_[level].filled) levels_ &= static_cast<uint8_t>(levels_ - 1);
      // No event is in an earlier slot any more.
      slot_ = slot_of(from.first) - 1;
      far_base_ = static_cast<uint64_t>(from.first);
      put_all(std::exchange(from.last, nullptr));
    }
  }

  VirtualTime first_ = kNever;
  /// The present slot: that of the events in near_. No event is in an earlier one.
  uint64_t slot_ = 0;
  uint64_t near_end_ = 1, far_base_ = 0, pushed_ = 0;
  std::vector<NearEvent> near_;
  /// The events before near_end_ that have not been taken yet, in order.
  NearEvent *next_ = nullptr, *last_ = nullptr;
  /// Slots, fine groups and far groups. Memory of those that are never used is never touched.
  std::unique_ptr<Group[], FreeGroups> groups_{
      static_cast<Group*>(std::calloc(kGroups, sizeof(Group)))};
  GroupSet slots_, fine_;
  std::array<GroupSet, kFarLevels> far_{};
  uint8_t levels_ = 0;  ///< a bit for each level with far events
};

}  // namespace fgmpi::predict
