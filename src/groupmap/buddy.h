// Binary decision diagrams over world ranks, by BuDDy: the only door to that package, which keeps
// its nodes in global variables and is not re-entrant.
//
// A set of ranks below 2^bits is a boolean function of their bits, the highest first. What goes in
// and out here are its paths to true: cubes of 0, 1 and X. Each call sets the package up and takes
// it down, so no memory stays behind and calls are independent. They must not nest, nor may another
// part of the process have BuDDy running (they fail then).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fgmpi::groupmap {

/// The ranks that agree with `fixed` in all bits outside `free`. fixed & free == 0.
struct Cube {
  uint32_t fixed;
  uint32_t free;
  bool operator==(const Cube&) const = default;
};

enum class SetOperation { kUnion, kIntersection, kDifference };

/// Working memory: at most this many nodes of 20 bytes (the paper's limit, here 40 MB).
inline constexpr int kMaxBddNodes = 2 << 20;

/// The paths of the set of `ranks`, in the order of a walk that takes 0 before 1. False when there
/// would be more than `most` or the nodes do not suffice. REQUIRES: ranks rise; all below 2^bits;
/// bits in 1..31.
bool bdd_paths(std::span<const int32_t> ranks, int bits, size_t most, std::vector<Cube>* out);

/// The same for what an operation makes of two sets of paths.
bool bdd_combine(std::span<const Cube> a, std::span<const Cube> b, int bits, SetOperation operation,
                 size_t most, std::vector<Cube>* out);

}  // namespace fgmpi::groupmap
