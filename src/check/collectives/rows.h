// Rows of DeclaredParts (parts.h) as processes send them, those of many members in one piece. A
// row:
//
//   | RowHead, 16 B | hashes, 4 B each: `count`, or 1 where all are the same |
//   | arguments, 8 B each: one for each bit of `differs`                     |
//
// Successive members that declare the same share one row: 500 of them that give the same counts
// take 20 bytes. `differs` is the set of arguments, by position, that differ from those of the call
// in the piece's head. Thread rule: as CheckedCall (call.h). Never switches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace fgmpi::check {

/// The head of a row, or of a fragment of a row.
struct RowHead {
  uint32_t sender = 0;
  uint16_t members = 1;  ///< number of successive members with this row, from `sender` on
  uint16_t differs = 0;
  uint32_t first = 0;  ///< first receiver
  uint32_t count : 30 = 0;
  uint32_t known : 1 = 0;
  uint32_t same : 1 = 0;
  bool operator==(const RowHead&) const = default;
};
static_assert(sizeof(RowHead) == 16);

/// The most hashes in one row, so that it fits into a piece beside the call.
inline constexpr size_t kMostInRow = 128;

inline size_t bytes_of(const RowHead& row) {
  return sizeof row + (row.same ? 1 : row.count) * sizeof(uint32_t) +
         static_cast<size_t>(std::popcount(row.differs)) * sizeof(int64_t);
}

/// What a member declares. `words`: all arguments of its call.
struct RowDeclaration {
  RowHead head;  ///< all but `count` and `same` is given
  std::span<const uint32_t> hashes;
  const int64_t* words = nullptr;
  void finish() {
    head.count = static_cast<uint32_t>(hashes.size());
    head.same =
        std::all_of(hashes.begin(), hashes.end(), [&](uint32_t hash) { return hash == hashes[0]; });
  }
};

/// Writes a finished row. REQUIRES: `to` has bytes_of(declared.head) bytes.
inline void write_row(char* to, const RowDeclaration& declared) {
  std::memcpy(to, &declared.head, sizeof declared.head);
  to += sizeof declared.head;
  const size_t hashes = (declared.head.same ? 1 : declared.head.count) * sizeof(uint32_t);
  std::memcpy(to, declared.hashes.data(), hashes);
  to += hashes;
  for (unsigned set = declared.head.differs; set; set &= set - 1, to += sizeof(int64_t))
    std::memcpy(to, &declared.words[std::countr_zero(set)], sizeof(int64_t));
}

/// Adds a member to the last row if the member follows those of the row and declares the same.
/// Returns whether it did.
inline bool join_row(char* row, const RowDeclaration& declared) {
  RowHead last;
  std::memcpy(&last, row, sizeof last);
  RowHead expected = declared.head;
  expected.sender = last.sender;
  expected.members = last.members;
  if (!(expected == last) || declared.head.sender != last.sender + last.members ||
      last.members == UINT16_MAX)
    return false;
  const char* at = row + sizeof last;
  const size_t hashes = (last.same ? 1 : last.count) * sizeof(uint32_t);
  if (std::memcmp(at, declared.hashes.data(), hashes) != 0) return false;
  at += hashes;
  for (unsigned set = last.differs; set; set &= set - 1, at += sizeof(int64_t))
    if (std::memcmp(at, &declared.words[std::countr_zero(set)], sizeof(int64_t)) != 0) return false;
  ++last.members;
  std::memcpy(row, &last, sizeof last);
  return true;
}

/// f(head, hashes, word) for each row. `hashes` has head.count elements, or one where all are the
/// same; word(position) returns an argument that differs. Stops at a malformed row.
template <class F>
void for_each_row(const char* at, size_t bytes, F&& f) {
  uint32_t hashes[kMostInRow];
  while (bytes >= sizeof(RowHead)) {
    RowHead head;
    std::memcpy(&head, at, sizeof head);
    if (head.count == 0 || head.members == 0 || (!head.same && head.count > kMostInRow)) return;
    const size_t all = bytes_of(head);
    if (all > bytes) return;
    const size_t written = head.same ? 1 : head.count;
    std::memcpy(hashes, at + sizeof head, written * sizeof(uint32_t));
    const char* words = at + sizeof head + written * sizeof(uint32_t);
    f(head, std::span<const uint32_t>(hashes, written), [&](int position) {
      int64_t word;
      const unsigned before = head.differs & ((1u << position) - 1);
      std::memcpy(&word, words + static_cast<size_t>(std::popcount(before)) * sizeof word,
                  sizeof word);
      return word;
    });
    at += all;
    bytes -= all;
  }
}

}  // namespace fgmpi::check
