// Shrink-and-Balance: the state of one vertex for one color. See shrink_and_balance.cc for
// the algorithm.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "system-ranked/rank_pass.h"
#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {

/// The number of vertices that the subtree of `supplier` can give.
struct Supplier {
  Address address;
  uint32_t amount;
};

/// A subtree of the shrunk tree, as the vertex above its root describes it.
struct Subtree {
  Address root = kNobody;
  Address position = kNobody;  ///< where its root stands now in the parent's tree
  uint32_t size = 0;
  uint32_t height = 0;   ///< upper bound of its levels
  uint32_t fills = 0;    ///< Filler::kChild: number of fill messages that its root gets
  uint32_t offered = 0;  ///< how many of `leaves` have been offered further up
  uint32_t taken = 0;    ///< how many of the leaves offered have left this subtree
  /// The vertices that may leave, in order: each is a leaf once those before it have gone.
  std::vector<Address> leaves;
  std::vector<Subtree> adopted;  ///< Filler::kChild: subtrees that its root must adopt
};

/// The instruction to a vertex, in a kBalance message; the root makes its own.
struct Instruction {
  bool fresh = false;  ///< the vertex is new in its position: it has no old subtrees below it
  Address position = kNobody;  ///< the position whose subtrees the vertex has
  Address parent = kNobody;
  uint32_t fills = 0, taken = 0;
  /// Size of its subtree from now on; 0: the vertex must give away all of it, itself included.
  uint32_t target = 0;
  uint32_t height = 0;            ///< levels that are allowed
  std::vector<Address> vertices;  ///< vertices to be placed below it
  std::vector<Supplier> suppliers;
  std::vector<Subtree> adopted;
};

/// The vertices that a vertex can place: single ones, and suppliers of more.
struct Stock {
  std::vector<Address> vertices;
  std::vector<Supplier> suppliers;
  uint64_t total() const;
  /// Removes and returns exactly `amount`: single vertices first, then whole suppliers, then some
  /// of the vertices of one supplier. REQUIRES: amount <= total().
  Stock take(uint64_t amount);
  void add(Stock&& other);
  bool empty() const { return vertices.empty() && suppliers.empty(); }
};

/// A child in the new tree that must grow: an old child, or one that does not exist yet
/// (root kNobody).
struct Consumer {
  Subtree subtree;
  uint32_t target = 0;
  Stock stock;
  uint64_t need() const {
    return target - (subtree.root == kNobody ? 1 : subtree.size) - stock.total();
  }
};

struct BalanceState {
  // What is below the vertex, from the upward pass or from the last fill.
  std::vector<Subtree> subtrees;
  Address position = kNobody;
  uint32_t depth = ~0u;  ///< depth of that position
  uint32_t fills = 0;
  std::optional<Instruction> held;  ///< an instruction that waits for a fill that has not arrived
  // The members that a supplier uses.
  Stock stock;
  std::deque<Supplier> asked;  ///< vertices that ask for vertices, and how many each wants
  // The members that a vertex of the new tree uses.
  uint32_t height = 0;  ///< levels allowed, its own included
  std::vector<Consumer> consumers;
  Stock drawn;  ///< what the consumers will get
  uint32_t answers = 0;
  bool refined = false;
  bool placed = false;
  RankPass ranks;
};

}  // namespace fgmpi::system_ranked
