// Hierarchy: the processes of a communicator's group and who of it lives where. Built lazily by the first
// collective that needs it; a regular communicator keeps nothing per member: members are computed.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/comm.h"

namespace fgmpi::comm {

struct Hierarchy {
  std::vector<uint32_t> processes;      ///< ascending process indices that host members
  std::vector<uint32_t> member_counts;  ///< how many members each of them hosts
  uint32_t my_index = 0;                ///< index of this process in `processes`, or ~0u when it hosts none

  uint32_t count() const { return static_cast<uint32_t>(processes.size()); }
  /// Index into processes of the one that hosts this rank.
  uint32_t index_of_rank(const RankMap& map, int32_t rank) const;
  /// Ranks hosted by processes[index], ascending.
  static void ranks_of(const RankMap& map, uint32_t process, std::vector<int32_t>* ranks);
};

const Hierarchy& hierarchy(SharedComm* shared);
const Hierarchy& remote_hierarchy(SharedComm* shared);

}  // namespace fgmpi::comm
