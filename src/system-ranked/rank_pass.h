// Ranks for a tree that was built without them: sizes go up the new tree, ranges of ranks down it.
// The pass costs 2 (m - 1) messages.
//
//   sizes  color | vertices | members | best candidate
//   range  color | first rank | vertices | size | depth | group id
#pragma once

#include <vector>

#include "system-ranked/vertex.h"

namespace fgmpi::system_ranked {

/// What one vertex does in the pass, for one color.
class RankPass {
 public:
  /// Begins once the neighbours in `place` are known. Returns true when the place is complete.
  bool begin(TreePosition* place, const Bid& bid, Carrier& carrier);
  /// Receives a child's sizes, which may come before begin(). Returns true when the place
  /// is complete.
  bool receive_sizes(Address from, MessageReader& in, Carrier& carrier);
  /// Receives the range from the parent, which completes the place.
  void receive_range(MessageReader& in, Carrier& carrier);
  size_t bytes() const { return parts_.capacity() * sizeof(ChildWeight); }

 private:
  struct ChildWeight {
    Address child;
    uint32_t vertices, weight;
  };
  bool all_arrived(Carrier& carrier);
  void send_down(int32_t first, Carrier& carrier);
  TreePosition* place_ = nullptr;
  Bid best_;
  std::vector<ChildWeight> parts_;
};

}  // namespace fgmpi::system_ranked
