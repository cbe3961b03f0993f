// Fields: values written one behind the other into bytes, for data between processes of one build.
//
//   append(&bytes, value)        the value's own bytes, little-endian as in memory
//   append_text(&bytes, text)    | length 4 | bytes |
//
// FieldReader reads them back. Its input may come from a broken or hostile peer: it never reads
// beyond the end. After a field that does not fit, every value that it returns is zero or empty,
// and failed() is true. So a decoder reads all fields that it expects and tests once.
// Thread rule: none (no shared state).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fgmpi {

template <class T>
void append(std::vector<uint8_t>* out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof value);
}

inline void append_text(std::vector<uint8_t>* out, std::string_view text) {
  append(out, static_cast<uint32_t>(text.size()));
  out->insert(out->end(), text.begin(), text.end());
}

class FieldReader {
 public:
  FieldReader(const void* bytes, size_t size)
      : at_(static_cast<const uint8_t*>(bytes)), end_(at_ + size) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (advance(sizeof value)) std::memcpy(&value, at_ - sizeof value, sizeof value);
    return value;
  }
  /// An unsigned number of `width` bytes; a width of more than 8 is a failure.
  uint64_t get_number(unsigned width) {
    uint64_t value = 0;
    if (width > sizeof value) fail();
    if (advance(width)) std::memcpy(&value, at_ - width, width);
    return value;
  }
  /// Reads a text of append_text(): the result points into the bytes that are read.
  std::string_view get_text() {
    const auto size = get<uint32_t>();
    if (!advance(size)) return {};
    return {reinterpret_cast<const char*>(at_ - size), size};
  }
  /// rest(): the bytes that have not been read. skip(): passes over bytes that the caller has
  /// read itself.
  const uint8_t* rest() const { return at_; }
  void skip(size_t size) { advance(size); }

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    at_ = end_;
  }

 private:
  bool advance(size_t size) {
    if (failed_ || size > left()) {
      fail();
      return false;
    }
    at_ += size;
    return true;
  }
  const uint8_t* at_;
  const uint8_t* end_;
  bool failed_ = false;
};

}  // namespace fgmpi
