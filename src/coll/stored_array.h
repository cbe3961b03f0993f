// StoredArray: a user's array of counts or displacements that outlives the call that gave it. Other
// libraries do not read these arrays after a nonblocking or persistent call returns, so programs
// free them then.
//
//   form      value i                                              bytes for n values
//   kRule     base + i * step (also: all the same)                 none
//   kRuns     the same within each of a few runs                   24 a run
//   kSums     base + counts[0] + ... + counts[i - 1]               8 every 8 values, and counts
//   kNarrow   base + a number of as few bytes as hold the largest  1 to 8 a value
//
// The first form that applies is used; runs only where they need less memory than numbers. Equal
// arrays of collocated members, such as those of an allgather, are stored once. Reading a value
// costs a branch more than with the user's array, or a search among runs, or four additions of a
// running sum on average.
//
// Thread rule: one thread; nothing here switches. Invariant: value i is the one that the user gave.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace fgmpi::coll {

class StoredArray;

/// An array of int, of MPI_Count or MPI_Aint, or a StoredArray.
struct Counts {
  enum Kind : uint8_t { kInt, kWide, kKept };
  const void* data = nullptr;
  Kind kind = kInt;
  Counts() = default;
  Counts(const int* values) : data(values) {}                     // NOLINT: conversions are
  Counts(const MPI_Count* values) : data(values), kind(kWide) {}  // NOLINT: the point
  /// MPI_Count is another type of this length from MPICH 4.2 on.
  template <class T>
  requires(std::is_same_v<T, MPI_Aint> && !std::is_same_v<MPI_Aint, MPI_Count>)
      Counts(const T* values)
      : data(values), kind(kWide) {}  // NOLINT
  explicit Counts(const StoredArray* array) : data(array), kind(kKept) {}
  int64_t operator[](int64_t i) const {
    return __builtin_expect(kind == kInt, 1) ? static_cast<const int*>(data)[i] : other(i);
  }
  explicit operator bool() const { return data != nullptr; }

 private:
  int64_t other(int64_t i) const;
};
static_assert(sizeof(MPI_Count) == 8 && sizeof(MPI_Aint) == 8);

class StoredArray {
 public:
  enum class Form : uint8_t { kRule, kRuns, kSums, kNarrow };

  /// Stores `n` values. `counts` is nullptr, or the kept array whose running sums these values may
  /// be; it must live as long as the result. Throws std::bad_alloc.
  static std::shared_ptr<const StoredArray> store(const Counts& values, int64_t n,
                                                  const StoredArray* counts = nullptr);

  /// REQUIRES: 0 <= i < size().
  int64_t at(int64_t i) const {
    if (form_ == Form::kRule) return base_ + i * step_;
    return at_slow(i);
  }
  int64_t size() const { return size_; }
  Form form() const { return form_; }
  /// Bytes of the object and of what it owns.
  size_t bytes() const;
  /// Checks the invariants of the form.
  bool validate(std::string* reason) const;

 private:
  struct ValueRun {
    int64_t first;  ///< index
    int64_t base, step;
  };
  /// The distance between checkpoints of running sums, in values.
  static constexpr int64_t kStride = 8;

  int64_t at_slow(int64_t i) const;
  bool equals(const Counts& values, int64_t n) const;
  void choose(const Counts& values, const StoredArray* counts);
  void make_narrow(const Counts& values, int64_t low, int width);

  Form form_ = Form::kRule;
  uint8_t width_ = 0;  ///< of kNarrow: bytes of a number
  int64_t size_ = 0, base_ = 0, step_ = 0;
  const StoredArray* counts_ = nullptr;
  std::vector<ValueRun> runs_;
  std::vector<int64_t> sums_;
  std::vector<uint8_t> numbers_;
};

}  // namespace fgmpi::coll
