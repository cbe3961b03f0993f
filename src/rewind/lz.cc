// The compressor: a greedy search by a table of the last place of each four bytes.

#include "rewind/lz.h"

#include <cstring>

#include "rewind/numbers.h"

namespace fgmpi::rewind {
namespace {

constexpr size_t kShortestMatch = 6;

uint32_t four_bytes(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

size_t match_length(const uint8_t* a, const uint8_t* b, const uint8_t* end) {
  const uint8_t* const start = b;
  while (end - b >= 8 && std::memcmp(a, b, 8) == 0) a += 8, b += 8;
  while (b < end && *a == *b) ++a, ++b;
  return static_cast<size_t>(b - start);
}

}  // namespace

void ChunkWindow::add(const uint8_t* chunk) {
  std::memcpy(bytes_, bytes_ + kChunkBytes, kChunkBytes);
  std::memcpy(bytes_ + kChunkBytes, chunk, kChunkBytes);
  ++number_;
}

size_t ChunkWindow::pack(const uint8_t* chunk, uint8_t* to, size_t room) {
  add(chunk);
  // Places are counted in bytes of all chunks; they may wrap around, which costs some matches.
  const uint32_t base = (number_ - 1) * static_cast<uint32_t>(kChunkBytes);
  const uint8_t* const begin = bytes_ + kChunkBytes;
  const uint8_t* const end = begin + kChunkBytes;
  uint8_t* out = to;
  uint8_t* const limit = to + room;
  const uint8_t* literals = begin;
  auto write_literals = [&](const uint8_t* until) {
    const auto count = static_cast<size_t>(until - literals);
    if (static_cast<size_t>(limit - out) < count + 3 * kMostNumberBytes) return false;
    out = put_number(out, count);
    std::memcpy(out, literals, count);
    out += count;
    return true;
  };
  for (const uint8_t* at = begin; end - at >= 8;) {
    const uint32_t bytes = four_bytes(at), here = base + static_cast<uint32_t>(at - begin);
    uint32_t& place = *place_of(bytes);
    const uint32_t back = here - (place - 1);
    const bool known = place != 0 && back > 0 && back <= static_cast<size_t>(at - bytes_);
    place = here + 1;
    const uint8_t* const before = at - back;
    const size_t length = known && four_bytes(before) == bytes ? match_length(before, at, end) : 0;
    if (length < kShortestMatch) {
      ++at;
      continue;
    }
    if (!write_literals(at)) return 0;
    out = put_number(out, length);
    out = put_number(out, back);
    literals = at += length;
  }
  return write_literals(end) ? static_cast<size_t>(out - to) : 0;
}

bool ChunkWindow::unpack(const uint8_t* from, size_t packed, uint8_t* chunk) {
  std::memcpy(bytes_, bytes_ + kChunkBytes, kChunkBytes);
  ++number_;
  uint8_t* const to = bytes_ + kChunkBytes;
  NumberReader in{from, from + packed};
  size_t done = 0;
  for (;;) {
    const uint64_t count = in.number();
    if (in.failed || count > in.left() || count > kChunkBytes - done) return false;
    std::memcpy(to + done, in.at, count);
    in.at += count;
    done += count;
    if (in.left() == 0) break;
    const uint64_t length = in.number(), back = in.number();
    if (in.failed || back == 0 || back > kChunkBytes + done || length > kChunkBytes - done)
      return false;
    for (uint64_t i = 0; i < length; ++i, ++done) to[done] = to[done - back];
  }
  std::memcpy(chunk, to, kChunkBytes);
  return done == kChunkBytes;
}

}  // namespace fgmpi::rewind
