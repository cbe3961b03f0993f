// Readers and writers of the wire form of encodings.

#include "groupmap/codec.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>

#include "base/strings.h"
#include "groupmap/bits.h"

namespace fgmpi::groupmap {

void ByteWriter::varint(uint64_t value) {
  while (value >= 0x80) {
    u8(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  u8(static_cast<uint8_t>(value));
}

void ByteWriter::zigzag(int64_t value) {
  varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void ByteWriter::bytes(const void* data, size_t size) {
  const uint8_t* from = static_cast<const uint8_t*>(data);
  out_.insert(out_.end(), from, from + size);
}

void ByteWriter::words(std::span<const uint64_t> words) { bytes(words.data(), words.size_bytes()); }

uint8_t ByteReader::u8() {
  if (bytes_.empty()) {
    fail();
    return 0;
  }
  uint8_t value = bytes_[0];
  bytes_ = bytes_.subspan(1);
  return value;
}

uint64_t ByteReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = u8();
    if (shift == 63 && byte > 1) break;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (!(byte & 0x80)) return failed_ ? 0 : value;
  }
  fail();
  return 0;
}

uint64_t ByteReader::varint(uint64_t most) {
  uint64_t value = varint();
  if (value <= most) return value;
  fail();
  return 0;
}

int64_t ByteReader::zigzag() {
  uint64_t value = varint();
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

std::span<const uint8_t> ByteReader::bytes(size_t size) {
  if (size > bytes_.size()) {
    fail();
    return {};
  }
  std::span<const uint8_t> view = bytes_.first(size);
  bytes_ = bytes_.subspan(size);
  return view;
}

bool ByteReader::words(size_t count, std::vector<uint64_t>* out) {
  std::span<const uint8_t> view = bytes(count > SIZE_MAX / 8 ? SIZE_MAX : count * 8);
  if (failed_) return false;
  out->resize(count);
  if (count) std::memcpy(out->data(), view.data(), view.size());
  return true;
}

bool invalid(std::string* reason, const char* format, ...) {
  if (reason) {
    va_list args;
    va_start(args, format);
    *reason = vformat(format, args);
    va_end(args);
  }
  return false;
}

bool all_distinct(std::span<const int32_t> numbers) {
  if (numbers.empty()) return true;
  auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  uint64_t span = static_cast<uint64_t>(int64_t{*most} - *least) + 1;
  if (span / 64 > numbers.size()) {
    std::vector<int32_t> sorted(numbers.begin(), numbers.end());
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  }
  std::vector<uint64_t> seen(words_for(span));
  for (int32_t number : numbers) {
    uint64_t at = static_cast<uint64_t>(int64_t{number} - *least);
    if (get_bit(seen.data(), at)) return false;
    set_bit(seen.data(), at);
  }
  return true;
}

}  // namespace fgmpi::groupmap
