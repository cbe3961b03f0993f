// Sets of events of an execution, for instance those that had to happen before something.
//
// Event k is the choice that happened at choice point k. A set is a row of bits, so that union, the
// most frequent operation, is cheap. Thread rule: none (no shared state).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fgmpi::explore {

class EventSet {
 public:
  void add(size_t event) {
    if (event / 64 >= words_.size()) words_.resize(event / 64 + 1);
    words_[event / 64] |= uint64_t{1} << event % 64;
  }
  void add(const EventSet& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool has(size_t event) const {
    return event / 64 < words_.size() && (words_[event / 64] >> event % 64 & 1);
  }
  /// Calls f(event) for each, ascending.
  template <class F>
  void for_each(F&& f) const {
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t w = words_[i]; w; w &= w - 1)
        f(i * 64 + static_cast<size_t>(std::countr_zero(w)));
  }
  /// Is an event above `event` in the set?
  bool any_above(size_t event) const {
    for (size_t i = event / 64; i < words_.size(); ++i) {
      uint64_t w = words_[i];
      if (i == event / 64) w &= ~((uint64_t{2} << event % 64) - 1);
      if (w) return true;
    }
    return false;
  }
  bool meets(const EventSet& other) const {
    const size_t both = std::min(words_.size(), other.words_.size());
    for (size_t i = 0; i < both; ++i)
      if (words_[i] & other.words_[i]) return true;
    return false;
  }
  /// The lowest event; SIZE_MAX for an empty set.
  size_t first() const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (words_[i]) return i * 64 + static_cast<size_t>(std::countr_zero(words_[i]));
    return SIZE_MAX;
  }
  const std::vector<uint64_t>& words() const { return words_; }
  void set_words(std::vector<uint64_t> words) { words_ = std::move(words); }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace fgmpi::explore
