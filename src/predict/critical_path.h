// CriticalPath: what the time of the rank that ends last has waited for, back to the beginning.
//
// A rank's clock goes on by itself, while it computes and in calls, or jumps: to the time at which
// something that another rank sent was there. Each jump is stored with the rank that sent and its
// clock then. At the end the path is followed backwards:
//
//   rank 3   ----------+     +------------->  the end
//                       \   / jump
//   rank 7       +-------+-+                  what is on the way: computing and calls of ranks, and
//               / jump                        latency, bytes and waits for ports of messages
//   rank 0   --+
//
// Kept with -predict-explain only: 88 bytes a jump. Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "predict/outcome.h"
#include "predict/virtual_time.h"

namespace fgmpi::predict {

/// A message's way to where it lets a rank go on.
struct PathHop {
  uint32_t from = 0;         ///< the rank whose clock it began at
  VirtualTime begun = 0;     ///< that clock
  VirtualTime computed = 0;  ///< what that rank had computed until then
  uint64_t place = 0;        ///< the call that it was in
  VirtualTime latency = 0, waited = 0;
};

class CriticalPath {
 public:
  explicit CriticalPath(size_t ranks) : jumps_(ranks) {}

  void add_rank() { jumps_.emplace_back(); }
  /// The rank's clock jumps to `at` because of the hop. `computed`, `place`: of the rank.
  void record(uint32_t rank, VirtualTime at, VirtualTime computed, uint64_t place,
              const PathHop& hop) {
    jumps_[rank].push_back({hop, at, computed, place});
  }
  /// Follows the path from the rank's end at `end`, which has computed so much. Uses up the jumps.
  PathSummary follow(uint32_t rank, VirtualTime end, VirtualTime computed, uint64_t place);

 private:
  struct ClockJump {
    PathHop hop;
    VirtualTime at, computed;
    uint64_t place;
  };
  /// What is spent between two places: of one rank, or of messages.
  struct Spent {
    VirtualTime time = 0;
    uint64_t count = 0;
  };
  using Places = std::map<std::pair<uint64_t, uint64_t>, Spent>;

  static void add(Places* places, uint64_t from, uint64_t to, VirtualTime time);
  static void add_lines(const Places& places, bool messages, PathSummary* out);

  std::vector<std::vector<ClockJump>> jumps_;
};

}  // namespace fgmpi::predict
