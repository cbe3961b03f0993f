// Groups: an ordered set of world ranks behind an MPI_Group handle; shares the encoded map of the communicator
// it came from. Thread rule: one thread. Nothing here switches.
#pragma once

#include <mpi.h>

#include "ch4-av-rankmap/rankmap.h"
#include "comm/comm.h"

namespace fgmpi::comm {

struct Group {
  RankMap map;
  int32_t rank = MPI_UNDEFINED;  ///< of the proclet that made it
};

/// The group behind a handle, or nullptr. MPI_GROUP_EMPTY is a group.
Group* find_group(MPI_Group handle);
/// A new handle for this map, owned by the running rank.
Status make_group(RankMap map, MPI_Group* out);
void free_group(MPI_Group handle);

}  // namespace fgmpi::comm
