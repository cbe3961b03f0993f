// Lists of 64-bit numbers that do not change: the counts, block lengths and displacements of
// datatypes, which are often regular and sometimes millions.
//
//   few       up to 4 numbers, stored as they are
//   words     up to 256 numbers, each as its distance from the least, 32 bits each: fast to read
//   steps     pieces of equal steps; where each begins, its first number and its step are lists in
//             turn, so that rows of rows take some hundred bytes
//   rising    numbers that never fall, by Elias-Fano: 2 + log2(range / numbers) bits each
//   packed    each as its distance from the least, in as many bits as the greatest distance needs
//   plain     64 bits each: what no other form can hold
//
// A list of more numbers than that is stored in the form that takes the fewest bytes. Thread rule:
// one thread; nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

namespace fgmpi::datatype {

class NumberList {
 public:
  /// A form that stores many numbers.
  struct Stored {
    virtual ~Stored() = default;
    virtual int64_t at(uint64_t i) const = 0;
    /// Sets out[k] to number first + k.
    virtual void read(uint64_t first, uint64_t count, int64_t* out) const = 0;
    virtual size_t bytes() const = 0;
  };

  NumberList() = default;
  NumberList(std::initializer_list<int64_t> numbers)
      : NumberList(std::span<const int64_t>(numbers.begin(), numbers.size())) {}
  explicit NumberList(std::span<const int64_t> numbers);

  uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](uint64_t i) const { return stored_ ? stored_->at(i) : few_[i]; }
  /// Sets out[k] = (*this)[first + k]. REQUIRES: first + count <= size().
  void read(uint64_t first, uint64_t count, int64_t* out) const {
    if (stored_) return stored_->read(first, count, out);
    for (uint64_t k = 0; k < count; ++k) out[k] = few_[first + k];
  }
  /// Calls f(number) for each number in order.
  template <class F>
  void for_each(F&& f) const {
    for_each_in(0, size_, f);
  }
  /// Calls f(number) for numbers `first` to `end` - 1. REQUIRES: end <= size().
  template <class F>
  void for_each_in(uint64_t first, uint64_t end, F&& f) const {
    int64_t some[kBlock];
    for (; first < end; first += kBlock) {
      const uint64_t count = end - first < kBlock ? end - first : kBlock;
      read(first, count, some);
      for (uint64_t k = 0; k < count; ++k) f(some[k]);
    }
  }
  bool operator==(const NumberList& other) const;
  uint64_t hash() const { return hash_; }
  /// Memory in bytes beyond the object itself.
  size_t heap_bytes() const { return stored_ ? stored_->bytes() : 0; }

  /// How many numbers are worth reading at once.
  static constexpr uint64_t kBlock = 64;

 private:
  static constexpr uint64_t kFew = 4;
  uint64_t size_ = 0;
  uint64_t hash_ = 0;
  int64_t few_[kFew] = {};
  std::unique_ptr<const Stored> stored_;
};

}  // namespace fgmpi::datatype
