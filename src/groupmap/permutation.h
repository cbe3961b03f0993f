// PackedPermutation: a permutation of 0..n-1 without structure, and its inverse without a second
// table.
//
//   forward  | pi(0) | pi(1) | ...                  ceil(log2 n) bits each
//   marked   1 bit an element (rank_bits.h): the elements that have a back pointer
//   back     element kStep before it on its cycle, for each marked one
//
//   cycle    a -> b -> c -> d -> e -> ...           every kStep-th element of a cycle
//            ^___________________|                  longer than kStep is marked
//
// When it wins: permutations with no long ascending runs, where a wavelet tree would only add to
// their log2(n!) bits. Costs: ceil(log2 n) + 1.07 + ceil(log2 n)/32 bits an element, 1.18 times
// log2(n!) at a million; forward is one load; inverse walks the cycle, at most 2*kStep loads. (The
// back pointers are those of Munro, Raman, Raman, Rao, "Succinct representations of permutations".)
#pragma once

#include <cstdint>
#include <span>

#include "groupmap/packed_vector.h"
#include "groupmap/rank_bits.h"

namespace fgmpi::groupmap {

class PackedPermutation {
 public:
  static constexpr uint32_t kStep = 32;

  PackedPermutation() = default;
  /// REQUIRES: `pi` is a permutation.
  explicit PackedPermutation(std::span<const uint32_t> pi);

  uint32_t size() const { return forward_.size(); }
  uint32_t forward(uint32_t i) const { return static_cast<uint32_t>(forward_[i]); }
  uint32_t inverse(uint32_t value) const {
    uint32_t at = value;
    bool jumped = false;
    for (;;) {
      if (!jumped && marked_[at]) {
        at = static_cast<uint32_t>(back_[marked_.rank1(at)]);
        jumped = true;
      }
      uint32_t next = forward(at);
      if (next == value) return at;
      at = next;
    }
  }
  size_t heap_bytes() const {
    return forward_.heap_bytes() + back_.heap_bytes() + marked_.heap_bytes();
  }
  static double expected_bytes(double n);

  void write(ByteWriter& out) const { forward_.write(out); }
  /// Reads a permutation of `count` numbers; fails `in` when the bytes hold none. Computes the back
  /// pointers again.
  static PackedPermutation read(ByteReader& in, uint32_t count);

 private:
  explicit PackedPermutation(PackedVector forward) : forward_(std::move(forward)) { mark(); }
  void mark();

  PackedVector forward_;
  PackedVector back_;
  RankBits marked_;
};

/// True where `at(i)` for i < count is a permutation of 0..count-1.
template <class At>
bool is_permutation(uint32_t count, At at) {
  std::vector<uint64_t> seen(words_for(count));
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t value = at(i);
    if (value >= count || get_bit(seen.data(), value)) return false;
    set_bit(seen.data(), value);
  }
  return true;
}

}  // namespace fgmpi::groupmap
