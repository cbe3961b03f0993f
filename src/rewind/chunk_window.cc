// Chunks packed by LZ4.

#include "rewind/chunk_window.h"

#include <lz4.h>

#include <cstring>

namespace fgmpi::rewind {
namespace {

/// The compressor's table, which is made anew for each chunk. The handler of system calls runs on
/// stacks of ranks, which have no room for it.
LZ4_stream_t g_table;

const char* chars(const uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }
char* chars(uint8_t* bytes) { return reinterpret_cast<char*>(bytes); }

}  // namespace

void ChunkWindow::add(const uint8_t* chunk) { std::memcpy(before_, chunk, kChunkBytes); }

size_t ChunkWindow::pack(const uint8_t* chunk, uint8_t* to, size_t room) {
  LZ4_initStream(&g_table, sizeof g_table);
  LZ4_loadDict(&g_table, chars(before_), kChunkBytes);
  const int packed = LZ4_compress_fast_continue(&g_table, chars(chunk), chars(to), kChunkBytes,
                                                static_cast<int>(room), 1);
  add(chunk);
  return packed > 0 ? static_cast<size_t>(packed) : 0;
}

bool ChunkWindow::unpack(const uint8_t* from, size_t packed, uint8_t* chunk) {
  const int size =
      LZ4_decompress_safe_usingDict(chars(from), chars(chunk), static_cast<int>(packed),
                                    kChunkBytes, chars(before_), kChunkBytes);
  if (size != static_cast<int>(kChunkBytes)) return false;
  add(chunk);
  return true;
}

size_t pack_alone(const uint8_t* chunk, uint8_t* to, size_t room) {
  const int packed = LZ4_compress_fast_extState(&g_table, chars(chunk), chars(to), kChunkBytes,
                                                static_cast<int>(room), 1);
  return packed > 0 ? static_cast<size_t>(packed) : 0;
}

bool unpack_alone(const uint8_t* from, size_t packed, uint8_t* chunk) {
  const int size =
      LZ4_decompress_safe(chars(from), chars(chunk), static_cast<int>(packed), kChunkBytes);
  return size == static_cast<int>(kChunkBytes);
}

}  // namespace fgmpi::rewind
