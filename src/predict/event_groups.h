// EventGroup, GroupSet: events of a part of virtual time, and which of many such groups have some.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "predict/virtual_time.h"

namespace fgmpi::predict {

/// The events of one group, in the opposite order of adding.
template <class Event>
struct EventGroup {
  Event* last;        ///< nullptr: there are none
  VirtualTime first;  ///< the earliest time of them
  uint64_t count;
  void add(Event* e) {
    e->next = last;
    last = e;
    ++count;
    first = std::min(first, e->at);
  }
  void begin(Event* e) {
    e->next = nullptr;
    last = e;
    count = 1;
    first = e->at;
  }
};

/// A bit for each of up to 4,096 groups that has events, and one for each word with such bits.
struct GroupSet {
  std::array<uint64_t, 64> words{};
  uint64_t filled = 0;
  void add(uint64_t i) {
    words[i / 64] |= uint64_t{1} << i % 64;
    filled |= uint64_t{1} << i / 64;
  }
  void remove(uint64_t i) {
    if (!(words[i / 64] &= ~(uint64_t{1} << i % 64))) filled &= ~(uint64_t{1} << i / 64);
  }
  /// The first one. REQUIRES: there is one.
  uint64_t first() const {
    const auto word = static_cast<uint64_t>(std::countr_zero(filled));
    return word * 64 + static_cast<uint64_t>(std::countr_zero(words[word]));
  }
  /// The first one from `i` on, around the ring. REQUIRES: there is one.
  uint64_t first_from(uint64_t i) const {
    const uint64_t word = i / 64;
    if (const uint64_t rest = words[word] >> i % 64)
      return i + static_cast<uint64_t>(std::countr_zero(rest));
    const int turn = static_cast<int>(word + 1) % 64;
    const uint64_t later = static_cast<uint64_t>(std::countr_zero(std::rotr(filled, turn)));
    const uint64_t found = (word + 1 + later) % 64;
    return found * 64 + static_cast<uint64_t>(std::countr_zero(words[found]));
  }
};

}  // namespace fgmpi::predict
