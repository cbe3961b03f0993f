// The compressor of a stream's chunks: LZ4, with the chunk before as its dictionary. Programs
// repeat themselves, so most of what they do is a reference to what they did before.
//
// Nothing is allocated, and nothing is kept between two chunks but the bytes of the last one: the
// process that is recorded must not use its heap for this. A build without LZ4 packs nothing, and
// unpacks nothing. Thread rule: one thread for each window.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rewind/format.h"

namespace fgmpi::rewind {

/// The chunk before. Begins with zeros.
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
  uint8_t before_[kChunkBytes];
};

/// As ChunkWindow::pack() and unpack(), for a chunk that needs no other one.
size_t pack_alone(const uint8_t* chunk, uint8_t* to, size_t room);
bool unpack_alone(const uint8_t* from, size_t packed, uint8_t* chunk);

}  // namespace fgmpi::rewind
