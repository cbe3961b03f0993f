// WaveletTree: a permutation as its ascending runs, merged (Barbay and Navarro, "Compressed
// representations of permutations, and applications", STACS 2009; section 5.5 of the paper).
//
//   pi       4 6 7 | 0 2 5 | 1 3                  runs; position -> value
//
//   root     values 0..7 by the run they are in:  0 = left child, 1 = right child
//            1 0 1 0 ...                          each node: one bit for each value that reaches it
//           /           \                         Hu-Tucker shaped: long runs are near the root
//
// inverse(v) goes from the root down. At each node the bit says into which child v went, and a rank
// how many values went there before v; in the leaf that number is the position within the run.
// forward(i) goes from the run's leaf up, by select.
//
// When it wins: few ascending runs, of which one is much longer than the others: n*H bits, H the
// entropy of the runs' lengths, at most log2(runs). Costs: 1.1*n*H bits and 28 bytes a run; forward
// and inverse need a select or rank at each of the 1 + H levels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "groupmap/elias_fano.h"
#include "groupmap/rank_bits.h"

namespace fgmpi::groupmap {

/// The depths of the leaves of the binary tree over `weights`, in their order, that minimises the
/// sum of weight * depth (Hu and Tucker's tree, by the algorithm of Garsia and Wachs).
std::vector<uint32_t> alphabetic_depths(std::span<const uint32_t> weights);

class WaveletTree {
 public:
  WaveletTree() = default;
  /// REQUIRES: `pi` is a permutation.
  explicit WaveletTree(std::span<const uint32_t> pi);

  uint32_t size() const { return size_; }
  uint32_t runs() const { return static_cast<uint32_t>(leaves_.size()); }
  uint32_t forward(uint32_t i) const;
  uint32_t inverse(uint32_t value) const;
  size_t heap_bytes() const;
  static double expected_bytes(double n, double entropy, double runs);

  void write(ByteWriter& out) const;
  /// Reads a permutation of `count` numbers; fails `in` unless it is valid.
  static WaveletTree read(ByteReader& in, uint32_t count);

 private:
  static constexpr uint32_t kLeaf = 1u << 31;
  struct WaveletNode {
    uint32_t begin;     // the node's first bit
    uint32_t ones;      // ones before `begin`
    uint32_t child[2];  // node, or kLeaf | run
    uint32_t parent;    // node << 1 | which child it is; the root's is ~0
  };
  struct WaveletLeaf {
    uint32_t first;   // position at which the run begins
    uint32_t parent;  // encoded as in WaveletNode
  };
  /// Makes the tree for runs that begin at `firsts`: its nodes and the ranges of their bits, not
  /// the bits themselves. Returns the number of bits.
  uint64_t shape(std::span<const uint32_t> firsts);
  uint32_t length_of(uint32_t run) const {
    return (run + 1 < runs() ? leaves_[run + 1].first : size_) - leaves_[run].first;
  }
  void count_ones();

  RankBits bits_;
  std::vector<WaveletNode> nodes_;  // a node before its children; empty for a single run
  std::vector<WaveletLeaf> leaves_;
  uint32_t size_ = 0;
};

}  // namespace fgmpi::groupmap
