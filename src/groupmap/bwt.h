// BlockCache: the last block of a BWT-coded map that one user decoded.
#pragma once

#include <cstdint>
#include <vector>

namespace fgmpi::groupmap {

class BlockCache {
 public:
  const void* owner = nullptr;  // the map to which the block belongs
  int32_t block = -1;           // the block's number; -1: none
  std::vector<int32_t> ranks;   // the block, decoded
};

}  // namespace fgmpi::groupmap
