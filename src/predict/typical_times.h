// TypicalTimes: what ranks compute between two places of the program, without what disturbs them.
//
// Thousands of ranks that take turns on one core evict each other's data from caches, so that a
// segment of a rank's computing takes longer than it would alone, by chance. Of the latest segments
// of a rank between the same two calls the lower quartile counts in place of each:
//
//   measured   10 11 10 25 10 12 10     each counts 10: the second least of seven
//   other rank 30 31 30 33 45 30 31     each counts 30: what differs by rank is kept
//
// Until a rank has kFew segments, those of all ranks between the two calls are taken. Where even
// the quartiles of a rank differ by a factor of kSameWork, its segments do different work (the
// levels of a multigrid, say), and what was measured counts.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

namespace fgmpi::predict {

class TypicalTimes {
 public:
  /// A rank has computed for `ns` between the calls at these places. Returns what counts, ns.
  int64_t typical_of(uint32_t rank, uint64_t from_place, uint64_t to_place, int64_t ns);

 private:
  static constexpr uint32_t kKept = 7, kFew = 4;
  static constexpr int64_t kSameWork = 3;
  /// The latest times of one kind of segments.
  struct LatestTimes {
    std::array<uint32_t, kKept> ns{};
    uint32_t count = 0;  ///< of all that there were
    void add(int64_t time);
    /// The time at this place among those that are kept, the least first.
    int64_t at(uint32_t quarters) const;
  };
  std::unordered_map<uint64_t, LatestTimes> of_ranks_, of_all_;
};

}  // namespace fgmpi::predict
