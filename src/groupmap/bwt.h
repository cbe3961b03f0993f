// BlockCache: the last block of a BWT-coded map that one user decoded.
#pragma once

#include <cstdint>
#include <vector>

namespace fgmpi::groupmap {

class BlockCache {
 public:
  const void* owner = nullptr;  // whose block it is
  int32_t block = -1;           // which one; -1: none
  std::vector<int32_t> ranks;   // what it decodes to
};

}  // namespace fgmpi::groupmap
