// Stores the whole map of a group of which a process had a part.

#include "comm/partial_group.h"

#include <memory>
#include <utility>

#include "comm/comm.h"

namespace fgmpi::comm {

void materialise_map(SharedComm* shared) {
  const std::shared_ptr<PartialGroup> group = shared->tree;  // a free may drop it meanwhile
  RankMap whole = group->whole();
  shared->map = std::move(whole);
}

}  // namespace fgmpi::comm
