// Stats: the properties of a group that one pass over its ranks computes. The strategies decide by
// these alone.
//
//   ranks   0 1 2 3 4 9 6 7 8 5 10 11 ...
//   pieces  |0 1 2 3 4|9 6|7 8|5 10|11 ...|     maximal stretches of one stride, found greedily
//
// The pass costs a compare an element inside a stretch and a dozen instructions at its end. Where
// the pieces so far are short and the next ranks seem random, the pass stops listing pieces: such a
// group is not made of strides. The rest of the pass only counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "groupmap/regular.h"

namespace fgmpi::groupmap {

struct Stats {
  int32_t size = 0;
  int32_t min = 0;
  int32_t max = 0;
  bool ordered = true;         // strictly ascending
  bool negative = false;       // a rank below 0: not a group
  uint32_t gcd = 0;            // divides all differences; 0 for less than two members
  int32_t ascending_runs = 0;  // maximal ascending stretches: the rho of wavelet trees
  double run_entropy = 0;      // bits a member that say in which ascending run it is
  int32_t unit_runs = 0;       // maximal stretches of +1
  int32_t chunks = 0;          // ordered only: 65,536-blocks of the world that have members
  bool pieces_complete = false;
  std::vector<Piece> pieces;  // when complete
  bool regular = false;
  Regular shape;  // when regular

  /// Number of elements of pieces[k]. REQUIRES: pieces_complete.
  int32_t length(size_t k) const {
    return (k + 1 < pieces.size() ? pieces[k + 1].index : size) - pieces[k].index;
  }
  /// World ranks from the smallest to the largest member.
  int64_t span() const { return size ? int64_t{max} - min + 1 : 0; }
};

/// Computes the properties in one pass over `ranks`.
Stats gather(std::span<const int32_t> ranks);
/// Computes the properties from pieces. REQUIRES: they cover 0..size-1 in order.
Stats gather(std::span<const Piece> pieces, int32_t size);
/// The ranks that the pieces describe.
std::vector<int32_t> expand(std::span<const Piece> pieces, int32_t size);

}  // namespace fgmpi::groupmap
