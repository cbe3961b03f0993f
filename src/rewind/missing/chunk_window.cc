// In a build without LZ4 chunks are stored as they are.

#include "rewind/chunk_window.h"

namespace fgmpi::rewind {

void ChunkWindow::add(const uint8_t*) {}
size_t ChunkWindow::pack(const uint8_t*, uint8_t*, size_t) { return 0; }
bool ChunkWindow::unpack(const uint8_t*, size_t, uint8_t*) { return false; }
size_t pack_alone(const uint8_t*, uint8_t*, size_t) { return 0; }
bool unpack_alone(const uint8_t*, size_t, uint8_t*) { return false; }

}  // namespace fgmpi::rewind
