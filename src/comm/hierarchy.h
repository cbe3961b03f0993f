// Hierarchy: the processes of a communicator's group and who of it lives where. Built lazily by the
// first collective that needs it; a regular communicator keeps nothing per member: members are
// computed.
//
//   ranks      0 1 2 3 | 4 5 6 | 7 8      a run: consecutive ranks in one process
//   process        5       2       5      processes {2, 5}, members {3, 6}, runs {5: 0..3, 2: 4..6,
//   5: 7..8}
//
// Thread rule: one thread; nothing here switches. Costs 8 bytes a process, and 12 bytes a run where
// there are at most two runs a process; with more, runs are listed again for each use (runs_of).
#pragma once

#include <cstdint>
#include <vector>

#include "comm/comm.h"

namespace fgmpi::comm {

/// Ranks first .. first+count-1 all live in processes[index].
struct Run {
  int32_t first;
  int32_t count;
  uint32_t index;
};

struct Hierarchy {
  std::vector<uint32_t> processes;      ///< ascending process indices that host members
  std::vector<uint32_t> member_counts;  ///< how many members each of them hosts
  uint32_t my_index = 0;      ///< index of this process in `processes`, or ~0u when it hosts none
  std::vector<Run> runs;      ///< in rank order; empty when there are too many to keep
  bool one_run_each = false;  ///< every process hosts one run: its members are consecutive ranks

  uint32_t count() const { return static_cast<uint32_t>(processes.size()); }
  /// Index into processes of the process with this number, or ~0u.
  uint32_t index_of_process(uint32_t process) const;
  /// Index into processes of the one that hosts this rank.
  uint32_t index_of_rank(const RankMap& map, int32_t rank) const;
  /// Ranks hosted by process number `process`, ascending.
  static void ranks_of(const RankMap& map, uint32_t process, std::vector<int32_t>* ranks);
  /// All runs in rank order, kept or listed anew.
  void runs_of(const RankMap& map, std::vector<Run>* out) const;
};

/// Builds one for the group of `map` (tests; the two below keep theirs in the communicator).
Hierarchy build_hierarchy(const RankMap& map);

const Hierarchy& hierarchy(SharedComm* shared);
const Hierarchy& remote_hierarchy(SharedComm* shared);

}  // namespace fgmpi::comm
