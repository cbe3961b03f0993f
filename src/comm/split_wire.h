// What a process sends to the root of a split about its members: their colors and keys, in
// rank order.
//
//   u32 members | color base 8, width 1 | key base 8, minus-rank 1, width 1 | colors | keys
//
// Values are stored less their smallest, each in `width` bytes: as few as hold the largest (0, 1,
// 2, 4 or 8). A key is stored less its member's rank where that is narrower, as it is for the usual
// "key = rank". The color 0 is MPI_UNDEFINED, others are one more.
//
// Thread rule: one thread; nothing here switches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fields.h"

namespace fgmpi::comm {

/// What one member gave as its arguments.
struct SplitMember {
  int32_t color;  ///< MPI_UNDEFINED, or 0 or more
  int32_t key;
  int32_t rank;  ///< in the parent
  /// The number of communicators that it leads now, for the choice of a leader; not packed.
  uint32_t led = 0;
};

/// One member while it is sorted: 16 bytes.
struct SplitEntry {
  uint32_t color;
  uint32_t key;  ///< with the sign bit flipped, so that it sorts as unsigned
  int32_t rank;  ///< in the parent
  /// At the root: index of its process in the parent's hierarchy. In its process: its number in the
  /// order of arrival.
  uint32_t origin;
};

inline uint32_t sortable_key(int32_t key) { return static_cast<uint32_t>(key) ^ 0x80000000u; }

/// Appends the packed members to `out`.
void pack_split(const std::vector<SplitMember>& members, std::vector<uint8_t>* out);

/// Decodes packed members from `in` and appends those that have a color to `entries`. `ranks`: the
/// members' ranks, which are not packed. Returns false when the bytes are no such message; the
/// contents of `entries` are then meaningless.
bool unpack_split(FieldReader* in, const std::vector<int32_t>& ranks, uint32_t process_index,
                  std::vector<SplitEntry>* entries);

/// A stable radix sort by `field`; passes over digits that are the same everywhere are skipped.
void sort_by(std::vector<SplitEntry>* entries, uint32_t SplitEntry::*field);

/// Sorts by rank, in the same way.
void sort_by_rank(std::vector<SplitEntry>* entries);

}  // namespace fgmpi::comm
