// The compressor: a greedy search by a table of the last place of each four bytes.

#include "rewind/lz.h"

#include <cstring>

#include "rewind/numbers.h"

namespace fgmpi::rewind {
namespace {

constexpr size_t kTableBits = 13, kShortestMatch = 6;
uint32_t g_places[1 << kTableBits];  ///< place + 1 of the last four bytes with this hash

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

size_t pack(const uint8_t* from, size_t size, uint8_t* to, size_t room) {
  std::memset(g_places, 0, sizeof g_places);
  const uint8_t* const end = from + size;
  uint8_t* out = to;
  uint8_t* const limit = to + room;
  const uint8_t* literals = from;
  auto write_literals = [&](const uint8_t* until) {
    const auto count = static_cast<size_t>(until - literals);
    if (static_cast<size_t>(limit - out) < count + 3 * kMostNumberBytes) return false;
    out = put_number(out, count);
    std::memcpy(out, literals, count);
    out += count;
    return true;
  };
  for (const uint8_t* at = from; end - at >= 8;) {
    const uint32_t bytes = four_bytes(at);
    uint32_t& place = g_places[bytes * 2654435761u >> (32 - kTableBits)];
    const uint8_t* const before = place ? from + (place - 1) : nullptr;
    place = static_cast<uint32_t>(at - from) + 1;
    const size_t length = before && four_bytes(before) == bytes ? match_length(before, at, end) : 0;
    if (length < kShortestMatch) {
      ++at;
      continue;
    }
    if (!write_literals(at)) return 0;
    out = put_number(out, length);
    out = put_number(out, static_cast<size_t>(at - before));
    literals = at += length;
  }
  return write_literals(end) ? static_cast<size_t>(out - to) : 0;
}

bool unpack(const uint8_t* from, size_t packed, uint8_t* to, size_t size) {
  NumberReader in{from, from + packed};
  size_t done = 0;
  for (;;) {
    const uint64_t count = in.number();
    if (in.failed || count > in.left() || count > size - done) return false;
    std::memcpy(to + done, in.at, count);
    in.at += count;
    done += count;
    if (in.left() == 0) return done == size;
    const uint64_t length = in.number(), distance = in.number();
    if (in.failed || distance == 0 || distance > done || length > size - done) return false;
    for (uint64_t i = 0; i < length; ++i, ++done) to[done] = to[done - distance];
  }
}

}  // namespace fgmpi::rewind
