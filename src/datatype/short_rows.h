// The rows of an element that has few: what short messages of a type are copied by, without a walk
// over its tree.
//
//   strided   | first | bytes | stride | count |                rows at equal distances
//   listed    | offset, bytes, length | ... | end |             at most kMostListed others
//
// A message of four doubles that lie apart takes a few dozens of instructions more than four that
// lie side by side; the recursion of copy.cc takes three hundred. A listed row says which code
// copies its length, and that code goes on to the code of the next row, so that a row costs five to
// eight instructions: a loop that chose for each row would take twenty. A type keeps 24 bytes for
// this, and 8 more for each listed row and for the end.
//
// Thread rule: one thread; nothing here switches, allocates (but make_short_rows()) or fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype/type_tree.h"

namespace fgmpi::datatype {

/// Data of at most this many bytes may be copied by ShortRows.
inline constexpr int64_t kMostShortBytes = 512;

struct ShortRows {
  static constexpr int64_t kMostListed = 16;
  /// What a row is copied by: moves of its length; two moves of 2, 4, 8 or 16 bytes which may
  /// overlap; or several moves. k4Twice and k8Twice copy the next row of that length, too.
  enum RowLength : uint16_t {
    kEnd,
    k1,
    k2,
    kTo4,
    k4,
    k4Twice,
    kTo8,
    k8,
    k8Twice,
    kTo16,
    kTo32,
    kLonger
  };
  struct ListedRow {
    int32_t offset;
    uint16_t bytes;
    RowLength length;
  };
  enum Shape : uint8_t { kNone, kStrided4, kStrided8, kStrided, kListed };

  int32_t first = 0;   ///< kStrided*: offset of the first row
  int32_t stride = 0;  ///< kStrided*
  uint16_t bytes = 0;  ///< kStrided*: of a row
  uint16_t count = 0;  ///< rows of an element
  Shape shape = kNone;
  std::unique_ptr<const ListedRow[]> listed;  ///< kListed: `count` rows and a kEnd

  /// The bytes of the list.
  size_t heap_bytes() const { return listed ? (count + size_t{1}) * sizeof(ListedRow) : 0; }
};

struct DerivedType;

/// The rows of a type's element; kNone where it is longer than kMostShortBytes or has other rows
/// than fit here.
ShortRows make_short_rows(const TypeTree& tree);

/// Packs `count` elements at `buffer` into `out`. REQUIRES: type.short_rows has rows.
void pack_short(const DerivedType& type, const void* buffer, int64_t count, void* out);
/// Unpacks `count` elements into those at `buffer`. REQUIRES: type.short_rows has rows.
void unpack_short(const DerivedType& type, const void* in, void* buffer, int64_t count);
/// Copies `count` elements into others of the same type. REQUIRES: type.short_rows has rows.
void copy_short(const DerivedType& type, const void* from, void* to, int64_t count);

}  // namespace fgmpi::datatype
