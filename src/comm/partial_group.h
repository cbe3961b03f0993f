// PartialGroup: the group of a communicator of which no process stores more than a part. comm asks
// it for what needs the whole group; the layer that makes such communicators (src/system-ranked)
// implements it and stores it in SharedComm::tree.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "ch4-av-rankmap/rankmap.h"

namespace fgmpi::comm {

struct LeaderCandidate;
struct SharedComm;

class PartialGroup {
 public:
  virtual ~PartialGroup() = default;
  /// The whole map; the first call asks other processes for it. May switch.
  virtual const RankMap& whole() = 0;
  /// Makes the shared part of a duplicate of `shared`, whose group this is. `number` distinguishes
  /// creations of the same parent, `mine` is the candidate of this process. With a strategy the
  /// process stores the whole map. May switch.
  virtual Status duplicate(SharedComm* shared, uint32_t number, const LeaderCandidate& mine,
                           const std::optional<groupmap::Strategy>& strategy, const char* call,
                           SharedComm** made) = 0;
  /// Called when the last member in this process has freed the communicator. Ends the use of its
  /// context id, in place of comm::drop().
  virtual void drop() = 0;
  virtual size_t bytes() const = 0;
};

/// Replaces shared->map by the whole map. May switch. REQUIRES: shared->tree.
void materialise_map(SharedComm* shared);

}  // namespace fgmpi::comm
