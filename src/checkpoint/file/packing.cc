// Blocks packed by LZ4.
#include "checkpoint/file/packing.h"

#include <lz4.h>

namespace fgmpi::checkpoint {

size_t pack_block(const char* from, size_t bytes, char* to, size_t room) {
  const int packed =
      LZ4_compress_default(from, to, static_cast<int>(bytes), static_cast<int>(room));
  return packed > 0 ? static_cast<size_t>(packed) : 0;
}

bool unpack_block(const char* from, size_t packed, char* to, size_t bytes) {
  const int unpacked =
      LZ4_decompress_safe(from, to, static_cast<int>(packed), static_cast<int>(bytes));
  return unpacked >= 0 && static_cast<size_t>(unpacked) == bytes;
}

}  // namespace fgmpi::checkpoint
