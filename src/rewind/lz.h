// A small compressor for the chunks of a stream: repeated bytes become references to earlier ones,
// in the same chunk or in the one before. Programs repeat themselves, so what they do is mostly
// such references: a loop of a thousand ranks takes some bytes a chunk.
//
//   packed = | literals: number, bytes | match: length, distance | literals ... |
//
// Numbers are of variable length, seven bits a byte. Nothing is allocated: the process that is
// recorded must not use its heap for this. Thread rule: one thread for each window.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rewind/format.h"

namespace fgmpi::rewind {

/// The chunk before and the chunk that is packed or unpacked. Begins with zeros.
class ChunkWindow {
 public:
  /// Packs a whole chunk. Returns the bytes written; 0: they do not fit into `room`.
  size_t pack(const uint8_t* chunk, uint8_t* to, size_t room);
  /// Unpacks what pack() has made of the chunk that follows the one before. Returns false where the
  /// input is something else.
  bool unpack(const uint8_t* from, size_t packed, uint8_t* chunk);
  /// A chunk follows that was stored as it is.
  void add(const uint8_t* chunk);

 private:
  static constexpr size_t kTableBits = 13;
  uint32_t* place_of(uint32_t bytes) { return &places_[bytes * 2654435761u >> (32 - kTableBits)]; }

  uint8_t bytes_[2 * kChunkBytes];
  uint32_t number_;  ///< chunks so far
  /// Where four bytes with this hash were last, counted over all chunks, plus 1.
  uint32_t places_[1 << kTableBits];
};

}  // namespace fgmpi::rewind
