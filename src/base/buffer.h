// Raw bytes, for payloads that are filled before they are read.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace fgmpi {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// Memory of malloc's that is freed with it.
using Bytes = std::unique_ptr<char[], FreeMemory>;

/// `count` bytes, aligned as malloc does, not set; null when there are none to be had. Never null
/// for 0.
inline Bytes allocate_bytes(size_t count) {
  return Bytes(static_cast<char*>(std::malloc(count ? count : 1)));
}

}  // namespace fgmpi
