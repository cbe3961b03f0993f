// Balanced k-ary trees by arithmetic, and the place of a vertex in one.
//
// A vertex takes part in a construction. It is a process of the job (process grain, in the library)
// or a single rank (rank grain, what the paper measures). Its name is its address, a number that a
// message can be sent to. Source: Langer, Venkataraman, Kale, EuroMPI 2012, equations (1) to (4).
#pragma once

#include <cstdint>
#include <vector>

#include "comm/context.h"

namespace fgmpi::system_ranked {

/// A process or a rank, in [0, number of them in the job).
using Address = uint32_t;
inline constexpr Address kNobody = 0xffffffffu;

/// Branching factors that are allowed.
inline constexpr uint32_t kLeastBranching = 2, kMostBranching = 64;

/// Equation (1): the depth of vertex i of a complete k-ary tree whose vertices are numbered level
/// by level.
inline uint32_t depth_of(uint64_t i, uint32_t k) {
  uint32_t depth = 0;
  for (uint64_t level = 1, before = 1; i >= before; ++depth) {
    level *= k;
    before += level;
  }
  return depth;
}
/// Equation (2): the most vertices that a k-ary tree of `height` levels can hold.
inline uint64_t max_size(uint32_t height, uint32_t k) {
  uint64_t size = 0;
  for (uint32_t h = 0; h < height && size <= UINT32_MAX; ++h) size = size * k + 1;
  return size;
}
/// The number of levels of a perfectly balanced k-ary tree.
inline uint32_t balanced_height(uint64_t vertices, uint32_t k) {
  return vertices == 0 ? 0 : depth_of(vertices - 1, k) + 1;
}
/// Equation (3): the parent of vertex i.
inline uint32_t parent_of(uint32_t i, uint32_t k) { return i == 0 ? 0 : (i - 1) / k; }
/// Equation (4): the number of children of vertex i among `vertices`; the first is i * k + 1.
inline uint32_t children_of(uint32_t i, uint32_t k, uint32_t vertices) {
  uint64_t first = uint64_t{i} * k + 1;
  if (first >= vertices) return 0;
  return static_cast<uint32_t>(vertices - first < k ? vertices - first : k);
}

/// The position of a vertex in the parent's tree, over which a construction begins.
struct ParentPlace {
  Address self = 0;
  Address parent = kNobody;  ///< kNobody: the root
  uint32_t depth = 0;        ///< distance from the root
  std::vector<Address> children;
};

/// The name of a group in messages about it. Context ids are used again; a serial number of the
/// leader's process distinguishes a group from the one that had its id before.
struct GroupId {
  uint64_t context = 0;  ///< 0: no member had a context id left
  uint32_t serial = 0;
  bool operator==(const GroupId&) const = default;
};

/// A member that may become leader, and the name that the group would then have.
struct Bid {
  comm::LeaderCandidate candidate;
  uint32_t serial = 0;
  bool before(const Bid& other) const { return candidate.before(other.candidate); }
  GroupId id() const {
    return candidate.valid() ? GroupId{candidate.id().bits, serial} : GroupId{};
  }
};

/// What a vertex contributes to the group of one color: `weight` members, and the bid of one
/// of them.
struct Enrolment {
  uint32_t color = 0;
  uint32_t weight = 1;
  Bid bid;
};

/// The position of a vertex in a tree that was built. Ranks are contiguous within a vertex: [first,
/// first + weight).
struct TreePosition {
  uint32_t color = 0;
  uint32_t weight = 0;
  Address parent = kNobody;
  std::vector<Address> children;
  int32_t first = -1;     ///< rank of its first member; -1: the algorithm assigns no ranks
  int32_t size = 0;       ///< number of members of the whole group
  uint32_t vertices = 0;  ///< number of vertices of the whole tree
  uint32_t depth = 0;     ///< distance from the root
  GroupId id;
  /// The arrangement of ranks. A number: vertices are numbered level by level and have their ranks
  /// in that order (Rank-and-Hash). kNobody: the ranks of a subtree follow those of its root; those
  /// of child i begin at child_first[i], and the last child's end before `end` (other algorithms).
  uint32_t number = kNobody;
  std::vector<int32_t> child_first;
  int32_t end = 0;
};

}  // namespace fgmpi::system_ranked
