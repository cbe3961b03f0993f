// Raw bytes, for payloads that are filled before they are read.
#pragma once

#include <cstddef>
#include <memory>

#include "base/recorded_memory.h"

namespace fgmpi {

struct FreeMemory {
  void operator()(void* memory) const { free_own(memory); }
};

/// Memory of the library, freed with the object.
using Bytes = std::unique_ptr<char[], FreeMemory>;

/// Makes `count` bytes, aligned as by malloc, not initialised; null when there is no memory. For 0
/// it makes one byte.
inline Bytes allocate_bytes(size_t count) {
  return Bytes(static_cast<char*>(allocate_own(count ? count : 1)));
}

}  // namespace fgmpi
