// A small compressor for the chunks of a recording: repeated bytes become references to earlier
// ones. Programs repeat themselves, so what they do is mostly such references.
//
//   packed = | literals: number, bytes | match: length, distance | literals ... |
//
// Numbers are of variable length, seven bits a byte. Nothing is allocated: the process that is
// recorded must not use its heap for this. Thread rule: one thread (the table is static).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

/// Packs `size` bytes (at most 64 KiB). Returns the bytes written; 0: they do not fit into `room`.
size_t pack(const uint8_t* from, size_t size, uint8_t* to, size_t room);

/// Returns false where the input is not what pack() has made of exactly `size` bytes.
bool unpack(const uint8_t* from, size_t packed, uint8_t* to, size_t size);

}  // namespace fgmpi::rewind
