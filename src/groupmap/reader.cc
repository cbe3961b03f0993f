// Reader: one user's access to a map, with a cache where the map is decoded in blocks.

#include "groupmap/bwt.h"
#include "groupmap/groupmap.h"

namespace fgmpi::groupmap {

Reader::Reader(const MapRef& map) : map_(map) {
  if (map_.map_ && map_.map_->block_wise()) cache_ = std::make_unique<BlockCache>();
}

Reader::~Reader() = default;

}  // namespace fgmpi::groupmap
