// Compares ranges of files with arrays of bytes.
#include "file/ranges.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"

namespace fgmpi::file {
namespace {

std::vector<FilePiece> random_pieces(RandomSequence* random, bool overlapping) {
  std::vector<FilePiece> pieces;
  int64_t at = static_cast<int64_t>(random->next() % 50);
  const bool even = random->next() % 2;
  for (uint64_t i = 0, n = random->next() % 30; i < n; ++i) {
    const auto bytes = even ? 5 : 1 + static_cast<int64_t>(random->next() % 9);
    pieces.push_back({at, nullptr, bytes});
    at += even ? 8 : static_cast<int64_t>(random->next() % 12) + (overlapping ? 0 : bytes);
  }
  return pieces;
}

std::vector<bool> covered(const std::vector<FilePiece>& pieces) {
  std::vector<bool> bytes(2000);
  for (const FilePiece& p : pieces)
    for (int64_t i = 0; i < p.bytes; ++i) bytes[static_cast<size_t>(p.offset + i)] = true;
  return bytes;
}

TEST(Ranges, TravelAsRules) {
  RandomSequence random(3);
  for (int round = 0; round < 500; ++round) {
    const std::vector<FilePiece> pieces = random_pieces(&random, false);
    Bytes bytes;
    write_ranges(pieces, &bytes);
    std::vector<FilePiece> back;
    int64_t sum = 0, wanted = 0;
    ASSERT_TRUE(read_ranges(bytes, &back, &sum).ok());
    for (const FilePiece& p : pieces) wanted += p.bytes;
    EXPECT_EQ(sum, wanted);
    EXPECT_EQ(covered(back), covered(pieces));
    // Encoded ranges that are cut off anywhere are refused.
    const size_t whole = bytes.size();
    bytes.resize(random.next() % (whole + 1));
    back.clear();
    EXPECT_EQ(read_ranges(bytes, &back, &sum).ok(), bytes.size() == whole);
  }
}

TEST(Ranges, EvenOnesAreOneRule) {
  std::vector<FilePiece> pieces;
  for (int64_t i = 0; i < 100000; ++i) pieces.push_back({i * 24, nullptr, 8});
  Bytes bytes;
  write_ranges(pieces, &bytes);
  EXPECT_LE(bytes.size(), 64u);
}

TEST(Ranges, RulesThatOverlapAreRefused) {
  for (const auto& rule : std::vector<std::vector<int64_t>>{
           {0, 8, 4, 2}, {0, 0, 8, 1}, {0, 8, 8, 0}, {-8, 8, 8, 1}, {0, 8, 8, int64_t{1} << 40}}) {
    std::vector<int64_t> fields = {1};
    fields.insert(fields.end(), rule.begin(), rule.end());
    const auto* first = reinterpret_cast<const uint8_t*>(fields.data());
    const Bytes bytes(first, first + fields.size() * sizeof(int64_t));
    std::vector<FilePiece> pieces;
    int64_t sum;
    EXPECT_FALSE(read_ranges(bytes, &pieces, &sum).ok());
  }
}

TEST(Ranges, OverlapsAreReadOnceAndCopied) {
  RandomSequence random(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<FilePiece> pieces = random_pieces(&random, true), copies;
    std::sort(pieces.begin(), pieces.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
    std::vector<std::vector<char>> memory(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      memory[i].assign(static_cast<size_t>(pieces[i].bytes), -1);
      pieces[i].memory = memory[i].data();
    }
    const std::vector<FilePiece> wanted = pieces;
    split_overlaps(&pieces, &copies);
    int64_t end = 0;
    for (const FilePiece& p : pieces) {
      ASSERT_GE(p.offset, end);
      end = p.offset + p.bytes;
      for (int64_t i = 0; i < p.bytes; ++i) p.memory[i] = static_cast<char>((p.offset + i) % 100);
    }
    copy_overlaps(pieces, copies, int64_t{1} << 40);
    for (const FilePiece& p : wanted)
      for (int64_t i = 0; i < p.bytes; ++i) ASSERT_EQ(p.memory[i], (p.offset + i) % 100);
  }
}

}  // namespace
}  // namespace fgmpi::file
