#include "check/collectives/rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/hash.h"

namespace fgmpi::check {
namespace {

/// The declaration of one member, not encoded.
struct Member {
  uint32_t sender = 0, first = 0;
  bool known = true;
  std::vector<uint32_t> hashes;
  uint16_t differs = 0;
  int64_t words[14] = {};
  bool operator==(const Member&) const = default;
};

/// Encoded rows one after the other, as in a piece.
struct Rows {
  std::vector<char> bytes;
  size_t last = 0, count = 0;
  void add(const Member& m) {
    RowDeclaration declared;
    declared.head = {.sender = m.sender, .differs = m.differs, .first = m.first, .known = m.known};
    declared.hashes = m.hashes;
    declared.words = m.words;
    declared.finish();
    if (count && join_row(bytes.data() + last, declared)) return;
    ++count;
    last = bytes.size();
    bytes.resize(last + bytes_of(declared.head));
    write_row(bytes.data() + last, declared);
  }
  std::vector<Member> read() const {
    std::vector<Member> all;
    for_each_row(bytes.data(), bytes.size(),
                 [&](const RowHead& head, std::span<const uint32_t> hashes, auto&& word) {
                   for (uint32_t i = 0; i < head.members; ++i) {
                     Member m{head.sender + i, head.first, head.known != 0, {}, head.differs, {}};
                     m.hashes.assign(hashes.begin(), hashes.end());
                     if (head.same) m.hashes.assign(head.count, hashes[0]);
                     for (int position = 0; position < 14; ++position)
                       if (head.differs >> position & 1) m.words[position] = word(position);
                     all.push_back(m);
                   }
                 });
    return all;
  }
};

TEST(Rows, AreReadAsTheyWereSaid) {
  RandomSequence random(1);
  for (int turn = 0; turn < 300; ++turn) {
    Rows rows;
    std::vector<Member> declared;
    Member m;
    for (int i = 0; i < 40; ++i) {
      // The next member is mostly the following one, with the same declaration.
      m.sender += random.next() % 4 ? 1 : static_cast<uint32_t>(random.next() % 5);
      if (i == 0 || random.next() % 4 == 0) {
        m.first = static_cast<uint32_t>(random.next() % 3);
        m.known = random.next() % 5;
        m.hashes.resize(1 + random.next() % kMostInRow);
        const bool same = random.next() % 2;
        for (uint32_t& hash : m.hashes) hash = same ? 7 : static_cast<uint32_t>(random.next() % 3);
        m.differs = random.next() % 2 ? 0 : static_cast<uint16_t>(random.next() % (1 << 14));
      }
      for (int position = 0; position < 14; ++position)
        m.words[position] = m.differs >> position & 1 && random.next() % 8 == 0
                                ? static_cast<int64_t>(random.next())
                            : m.differs >> position & 1 ? m.words[position]
                                                        : 0;
      rows.add(m);
      declared.push_back(m);
    }
    ASSERT_EQ(rows.read(), declared) << turn;
  }
}

TEST(Rows, MembersThatSayTheSameHaveOne) {
  Rows rows;
  Member m;
  m.hashes.assign(500, 3);
  for (m.sender = 0; m.sender < 500; ++m.sender) rows.add(m);
  EXPECT_EQ(rows.count, 1u);
  EXPECT_EQ(rows.bytes.size(), 20u);
  EXPECT_EQ(rows.read().size(), 500u);
  m.sender = 501;  // member 500 is missing
  rows.add(m);
  m.sender = 502;
  m.hashes[499] = 4;
  rows.add(m);
  EXPECT_EQ(rows.count, 3u);
}

TEST(Rows, OfABrokenPieceNothingBehindItsEndIsRead) {
  Rows rows;
  Member m;
  m.hashes = {1, 2, 3};
  m.differs = 5;
  rows.add(m);
  m.sender = 7;
  rows.add(m);
  for (size_t bytes = 0; bytes < rows.bytes.size(); ++bytes) {
    size_t read = 0;
    const std::vector<char> exactly(rows.bytes.begin(),
                                    rows.bytes.begin() + static_cast<ptrdiff_t>(bytes));
    for_each_row(exactly.data(), bytes, [&](const RowHead&, auto, auto&&) { ++read; });
    EXPECT_EQ(read, bytes < rows.bytes.size() / 2 ? 0u : 1u) << bytes;
  }
}

}  // namespace
}  // namespace fgmpi::check
