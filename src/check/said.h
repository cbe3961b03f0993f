// What a member of a communicator says of a call in which ranks differ: what it gives its
// neighbours and takes from them, or, where counts differ by rank, all others (pairs.cc). Kept with
// the call (KeptCall::said), so that the same one need not be taken apart again.
// Thread rule: as Call (call.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fgmpi::check {

/// Of parts, 0 where there is nothing; whether all of them are known.
struct Hashes {
  std::vector<uint32_t> list;
  bool known = true;
};

/// An edge as one of its ends tells of it: several from one rank to another are one.
struct EdgeEnd {
  uint64_t between = 0;  ///< as WireEdge::between
  uint64_t sum = 0;      ///< of hashes of signatures
  bool known = true, sent = true;
  bool here = true;  ///< the other end is in this process
  int process = 0;   ///< of the other end
};

struct Said {
  /// What it sends to the members of a process.
  struct Row {
    int process = 0;
    uint32_t receivers = 0;
    bool gives = false;
    Hashes hashes;
  };
  std::vector<EdgeEnd> ends;
  std::vector<Row> rows;
  bool takes = false;
  uint32_t receiver = 0;  ///< which one of this process it is
  Hashes column;          ///< what it takes
  uint32_t users = 0;
  Said* next_free = nullptr;

  size_t size() const {
    size_t n = ends.size() + column.list.size();
    for (const Row& row : rows) n += row.hashes.list.size();
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
