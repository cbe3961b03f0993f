// EncodingInfo, the interface between an encoding's file and the framework; and readers and writers
// of the wire form.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "groupmap/groupmap.h"
#include "groupmap/stats.h"

namespace fgmpi::groupmap {

/// Appends little-endian numbers.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<uint8_t>& out) : out_(out) {}
  void u8(uint8_t value) { out_.push_back(value); }
  /// Writes 1 to 10 bytes, 7 bits each, least significant first.
  void varint(uint64_t value);
  /// Writes numbers of both signs: small absolute values are short.
  void zigzag(int64_t value);
  void bytes(const void* data, size_t size);
  void words(std::span<const uint64_t> words);

 private:
  std::vector<uint8_t>& out_;
};

/// Reads what ByteWriter wrote. After a read past the end or of a malformed number, failed() is
/// true and all reads return 0. So readers check once, before they use a number or allocate by it.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint8_t u8();
  uint64_t varint();
  int64_t zigzag();
  /// Reads a varint that must be at most `most`.
  uint64_t varint(uint64_t most);
  /// A view of the next `size` bytes, empty on failure.
  std::span<const uint8_t> bytes(size_t size);
  bool words(size_t count, std::vector<uint64_t>* out);
  size_t left() const { return bytes_.size(); }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    bytes_ = {};
  }

 private:
  std::span<const uint8_t> bytes_;
  bool failed_ = false;
};

/// An encoding. Limits that it has beyond its estimate are in its own file.
struct EncodingInfo {
  Encoding encoding;
  const char* name;
  /// The expected cost, or nothing when this group does not fit the encoding.
  std::optional<Cost> (*estimate)(const Stats& stats);
  /// True where build() needs only stats.pieces, not the ranks, when the pieces are complete.
  bool from_pieces;
  /// Builds the map; nullptr, and the reason in `why`, when the encoding cannot hold the group.
  const GroupMap* (*build)(std::span<const int32_t> ranks, const Stats& stats, std::string* why);
  /// Reads the wire body of a map of `size` members; nullptr when it is malformed. validate() must
  /// be safe to call on the result.
  const GroupMap* (*read)(ByteReader& in, int32_t size, int depth);
  /// The library without which this build lacks the encoding; nullptr where it has it.
  const char* lacks = nullptr;
};

/// An encoding that this build lacks for want of the library: it holds no group.
constexpr EncodingInfo lacking_encoding(Encoding encoding, const char* name, const char* library) {
  return {encoding,
          name,
          [](const Stats&) { return std::optional<Cost>(); },
          false,
          [](std::span<const int32_t>, const Stats&, std::string* why) {
            *why = "this build lacks it";
            return static_cast<const GroupMap*>(nullptr);
          },
          [](ByteReader&, int32_t, int) { return static_cast<const GroupMap*>(nullptr); },
          library};
}

/// The entry of an encoding, nullptr for an unknown id.
const EncodingInfo* encoding_info(Encoding encoding);

/// The expected time of a select that ends in one access to `bytes` of data, by the cache that
/// holds them.
double memory_ns(double bytes);

/// True where no number occurs twice. O(n) where the numbers are dense, else O(n log n).
bool all_distinct(std::span<const int32_t> numbers);

/// Sets *reason (if it is not null) and returns false: `return invalid(reason, "...")` in a
/// validate().
[[gnu::format(printf, 2, 3)]] bool invalid(std::string* reason, const char* format, ...);

/// How deep maps may nest in maps (a patched map over piecewise strides, ...) on the wire.
inline constexpr int kMaxDepth = 4;

/// Writes the wire form without checksum: for maps within maps and for fuzzing.
void write_map(const MapRef& map, ByteWriter& out);
/// Reads and validates one map; nullopt when it is refused. `depth` bounds maps within maps.
std::optional<MapRef> read_map(ByteReader& in, std::string* why, int depth = 0);

}  // namespace fgmpi::groupmap
