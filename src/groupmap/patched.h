// How a list of pieces splits into a smooth base and exceptions; described in patched.cc.
#pragma once

#include <vector>

#include "groupmap/stats.h"

namespace fgmpi::groupmap {

struct Exception {
  int32_t index;  // group rank
  int32_t value;  // the world rank there
};

struct Patches {
  std::vector<Piece> base;  // covers the whole group
  std::vector<Exception> exceptions;
};

/// Splits pieces; returns false when there would be more than `most` exceptions. REQUIRES:
/// stats.pieces_complete.
bool find_patches(const Stats& stats, size_t most, Patches* out);

}  // namespace fgmpi::groupmap
