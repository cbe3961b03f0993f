// Raw bytes, for payloads that are filled before they are read.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace fgmpi {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// Memory from malloc, freed with the object.
using Bytes = std::unique_ptr<char[], FreeMemory>;

/// Makes `count` bytes, aligned as by malloc, not initialised; null when there is no memory. For 0
/// it makes one byte.
inline Bytes allocate_bytes(size_t count) {
  return Bytes(static_cast<char*>(std::malloc(count ? count : 1)));
}

}  // namespace fgmpi
