// What a member of a communicator declares about a call in which ranks differ: what it gives its
// neighbours and receives from them, or, where counts differ by rank, the same for all other
// members (pairs.cc). The call caches it (RememberedCall::declared): a repeated call is
// not decoded again. Thread rule: as CheckedCall (call.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fgmpi::check {

/// Hashes of the parts of a buffer; 0 for an empty part. `known` is false if one of
/// them is unknown.
struct Hashes {
  std::vector<uint32_t> list;
  bool known = true;
};

/// An edge as one of its ends declares it. Several edges from one rank to another are joined.
struct EdgeEnd {
  uint64_t between = 0;  ///< as WireEdge::between
  uint64_t sum = 0;      ///< sum of the signatures' hashes
  bool known = true, sent = true;
  bool here = true;  ///< the other end is in this process
  int process = 0;   ///< process of the other end
};

struct CollectiveDeclaration {
  /// What the member sends to the members of one process.
  struct DeclaredRow {
    int process = 0;
    uint32_t receivers = 0;
    bool gives = false;
    Hashes hashes;
  };
  std::vector<EdgeEnd> ends;
  std::vector<DeclaredRow> rows;
  bool takes = false;
  uint32_t receiver = 0;  ///< index of the member among this process's receivers
  Hashes column;          ///< what the member receives
  uint32_t users = 0;
  CollectiveDeclaration* next_free = nullptr;

  size_t size() const {
    size_t n = ends.size() + column.list.size();
    for (const DeclaredRow& row : rows) n += row.hashes.list.size();
    return n;
  }
  void let_go() {
    ends.clear();
    rows.clear();
    column = {};
    takes = false;
  }
};

}  // namespace fgmpi::check
