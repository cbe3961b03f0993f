// Shrink-and-Balance: what one vertex keeps for one color. See shrink_and_balance.cc for the
// algorithm.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "comm/system_ranked/rank_pass.h"
#include "comm/system_ranked/vertex.h"

namespace fgmpi::comm::system_ranked {

/// So many vertices may be had from the subtree of `supplier`.
struct Supplier {
  Address address;
  uint32_t amount;
};

/// A subtree of the shrunk tree, as the vertex above its root knows it.
struct Subtree {
  Address root = kNobody;
  Address position = kNobody;  ///< in the parent's tree, where its root stands now
  uint32_t size = 0;
  uint32_t height = 0;   ///< at most so many levels
  uint32_t fills = 0;    ///< Filler::kChild: how many fill messages its root gets
  uint32_t offered = 0;  ///< so many of `leaves` have been offered further up
  uint32_t taken = 0;    ///< so many of them have gone from here
  /// In the order in which they may go: each is a leaf once those before it have gone.
  std::vector<Address> leaves;
  std::vector<Subtree> adopted;  ///< Filler::kChild: what its root is to take on
};

/// The instruction to a vertex, in a kBalance message or, at the root, in itself.
struct Instruction {
  bool fresh = false;          ///< it is new where it stands: nothing below it is its own any more
  Address position = kNobody;  ///< whose subtrees it has
  Address parent = kNobody;
  uint32_t fills = 0, taken = 0;
  /// Size of its subtree from now on; 0: it is to give all away, itself included.
  uint32_t target = 0;
  uint32_t height = 0;            ///< levels that are allowed
  std::vector<Address> vertices;  ///< to be placed below it
  std::vector<Supplier> suppliers;
  std::vector<Subtree> adopted;
};

/// What a vertex has in hand: single vertices, and suppliers of more.
struct Stock {
  std::vector<Address> vertices;
  std::vector<Supplier> suppliers;
  uint64_t total() const;
  /// Takes exactly `amount` out: single vertices first, then whole suppliers, then a part of one.
  /// REQUIRES: amount <= total().
  Stock take(uint64_t amount);
  void add(Stock&& other);
  bool empty() const { return vertices.empty() && suppliers.empty(); }
};

/// A child in the new tree that is to grow: an old one, or one that is not there yet (root
/// kNobody).
struct Consumer {
  Subtree subtree;
  uint32_t target = 0;
  Stock stock;
  uint64_t need() const {
    return target - (subtree.root == kNobody ? 1 : subtree.size) - stock.total();
  }
};

struct BalanceState {
  // What is below it, by the upward pass, or by the last fill.
  std::vector<Subtree> subtrees;
  Address position = kNobody;
  uint32_t depth = ~0u;  ///< of that position
  uint32_t fills = 0;
  std::optional<Instruction> held;  ///< until the fill that it speaks of is here
  // As a supplier.
  Stock stock;
  std::deque<Supplier> asked;  ///< who wants how many
  // As a vertex of the new tree.
  uint32_t height = 0;  ///< levels allowed below it and with it
  std::vector<Consumer> consumers;
  Stock drawn;  ///< what they are to get
  uint32_t answers = 0;
  bool refined = false;
  bool placed = false;
  RankPass ranks;
};

}  // namespace fgmpi::comm::system_ranked
