// Binary decision diagrams over world ranks, by the package BuDDy. No other file uses BuDDy, which
// keeps its nodes in global variables and is not re-entrant.
//
// A set of ranks below 2^bits is a boolean function of their bits, the highest first. The functions
// here receive and return that function's paths to true: cubes of 0, 1 and X. Each call initialises
// the package and shuts it down again, so it holds no memory between calls. A call fails while
// another one, or other code of the process, uses BuDDy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "groupmap/groupmap.h"

namespace fgmpi::groupmap {

/// The ranks that agree with `fixed` in all bits outside `free`. fixed & free == 0.
struct Cube {
  uint32_t fixed;
  uint32_t free;
  bool operator==(const Cube&) const = default;
};

/// Working memory: at most this many nodes of 20 bytes (the paper's limit, here 40 MB).
inline constexpr int kMaxBddNodes = 2 << 20;

/// The paths of the set of `ranks`, in the order of a walk that visits 0 before 1. Returns false
/// when there would be more than `most`, or the nodes do not suffice. REQUIRES: ranks rise and are
/// below 2^bits; bits in 1..31.
bool bdd_paths(std::span<const int32_t> ranks, int bits, size_t most, std::vector<Cube>* out);

/// The paths of the union, intersection or difference of two sets of paths, under the same
/// conditions.
bool bdd_combine(std::span<const Cube> a, std::span<const Cube> b, int bits, SetOperation operation,
                 size_t most, std::vector<Cube>* out);

}  // namespace fgmpi::groupmap
