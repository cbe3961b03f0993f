// MemberNumbers: one number for each member of a window that lives in a process: a first one and a
// step where they are evenly spaced, else a list.
//
// Wins where members have equal sizes, or images of the program lie at a fixed stride: 48 bytes for
// any number of members. Otherwise it costs 8 bytes a member more, once in each process that has
// the window, not once a member. Thread rule: none (no shared state).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/fields.h"

namespace fgmpi::rma {

class MemberNumbers {
 public:
  MemberNumbers() = default;
  explicit MemberNumbers(const std::vector<int64_t>& numbers) : size_(numbers.size()) {
    if (numbers.empty()) return;
    first_ = numbers[0];
    if (size_ > 1) step_ = wrapping_difference(numbers[1], numbers[0]);
    for (uint32_t i = 1; i < size_; ++i)
      if (wrapping_difference(numbers[i], numbers[i - 1]) != step_) {
        list_ = numbers;
        list_.shrink_to_fit();
        return;
      }
  }

  uint32_t size() const { return size_; }
  /// REQUIRES: i < size().
  int64_t operator[](uint32_t i) const {
    return __builtin_expect(list_.empty(), 1) ? first_ + step_ * static_cast<int64_t>(i) : list_[i];
  }
  bool regular() const { return list_.empty(); }
  /// The index of a number, or ~0u. REQUIRES: the numbers ascend.
  uint32_t find(int64_t number) const {
    if (__builtin_expect(list_.empty(), 1)) {
      const int64_t distance = number - first_;
      const int64_t place = step_ > 1 ? distance / step_ : distance;
      return place >= 0 && place < int64_t{size_} && (*this)[static_cast<uint32_t>(place)] == number
                 ? static_cast<uint32_t>(place)
                 : ~0u;
    }
    auto at = std::lower_bound(list_.begin(), list_.end(), number);
    return at != list_.end() && *at == number ? static_cast<uint32_t>(at - list_.begin()) : ~0u;
  }
  /// Bytes of memory beyond the object.
  size_t bytes() const { return list_.capacity() * sizeof(int64_t); }

  /// Encodes as | size 4 | regular 1 | first 8, step 8, or the numbers |.
  void write(std::vector<uint8_t>* out) const {
    append(out, size_);
    append(out, static_cast<uint8_t>(regular()));
    if (regular()) {
      append(out, first_);
      append(out, step_);
    } else {
      for (int64_t number : list_) append(out, number);
    }
  }
  void read(FieldReader* in) {
    *this = MemberNumbers();
    const auto size = in->get<uint32_t>();
    if (in->get<uint8_t>()) {
      first_ = in->get<int64_t>();
      step_ = in->get<int64_t>();
    } else {
      if (size > in->left() / sizeof(int64_t)) return in->fail();
      list_.resize(size);
      for (int64_t& number : list_) number = in->get<int64_t>();
    }
    size_ = in->failed() ? 0 : size;
  }

 private:
  static int64_t wrapping_difference(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  int64_t first_ = 0, step_ = 0;
  std::vector<int64_t> list_;
  uint32_t size_ = 0;
};

}  // namespace fgmpi::rma
