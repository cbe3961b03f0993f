// Compares walks over layouts with a list of all bytes in the order of the type map.
#include "rma/layout.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace fgmpi::rma {
namespace {

Layout random_layout(RandomSequence* random) {
  Layout l;
  int64_t at = static_cast<int64_t>(random->next() % 8);
  l.low = at;
  for (uint64_t i = 0, n = 1 + random->next() % 6; i < n; ++i) {
    const auto bytes = 1 + static_cast<int64_t>(random->next() % 9);
    l.runs.push_back({at, bytes});
    at += bytes;
    l.high = at;
    at += 1 + static_cast<int64_t>(random->next() % 5);
  }
  l.extent = at + static_cast<int64_t>(random->next() % 7);
  l.element = MPI_BYTE;
  l.sum_up();
  return l;
}

std::vector<int64_t> all_bytes(const Layout& l, int64_t count) {
  std::vector<int64_t> places;
  for (int64_t e = 0; e < count; ++e)
    for (const ByteRun& run : l.runs)
      for (int64_t i = 0; i < run.bytes; ++i) places.push_back(e * l.extent + run.offset + i);
  return places;
}

TEST(Layout, CursorVisitsEveryByteInOrder) {
  RandomSequence random(1);
  for (int round = 0; round < 300; ++round) {
    const Layout l = random_layout(&random);
    const auto count = 1 + static_cast<int64_t>(random.next() % 5);
    const std::vector<int64_t> places = all_bytes(l, count);
    const auto from = random.next() % places.size();
    Cursor at(l, count);
    at.seek(static_cast<int64_t>(from));
    for (size_t i = from; i < places.size();) {
      const rma::ByteRun run = at.next(1 + static_cast<int64_t>(random.next() % 11));
      ASSERT_GT(run.bytes, 0);
      for (int64_t k = 0; k < run.bytes; ++k) ASSERT_EQ(run.offset + k, places[i++]);
    }
  }
}

TEST(Layout, WalkPairsBytes) {
  RandomSequence random(2);
  for (int round = 0; round < 300; ++round) {
    const Layout a = random_layout(&random), b = random_layout(&random);
    const int64_t count = 4;
    const std::vector<int64_t> x = all_bytes(a, count), y = all_bytes(b, count);
    const auto bytes = std::min(x.size(), y.size());
    Cursor at_a(a, count), at_b(b, count);
    size_t i = 0;
    walk(&at_a, &at_b, static_cast<int64_t>(bytes), [&](int64_t p, int64_t q, int64_t n) {
      for (int64_t k = 0; k < n; ++k, ++i) {
        ASSERT_EQ(p + k, x[i]);
        ASSERT_EQ(q + k, y[i]);
      }
    });
    EXPECT_EQ(i, bytes);
  }
}

TEST(Layout, TravelsWhole) {
  RandomSequence random(3);
  const Layout l = random_layout(&random);
  std::vector<uint8_t> bytes;
  write_layout(l, &bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    FieldReader in(bytes.data(), n);
    Layout cut;
    EXPECT_FALSE(read_layout(&in, &cut));
  }
  FieldReader in(bytes.data(), bytes.size());
  Layout back;
  ASSERT_TRUE(read_layout(&in, &back));
  EXPECT_EQ(back.size, l.size);
  EXPECT_EQ(all_bytes(back, 3), all_bytes(l, 3));
}

TEST(Layout, RefusesRunsBeyondItsBounds) {
  RandomSequence random(4);
  Layout l = random_layout(&random);
  l.runs.back().offset += 1000;
  std::vector<uint8_t> bytes;
  write_layout(l, &bytes);
  FieldReader in(bytes.data(), bytes.size());
  Layout back;
  EXPECT_FALSE(read_layout(&in, &back));
}

}  // namespace
}  // namespace fgmpi::rma
