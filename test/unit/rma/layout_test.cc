// Compares walks over layouts with a list of all bytes in the order of the type map.
#include "rma/layout.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace fgmpi::rma {
namespace {

TypeTree random_tree(RandomSequence* random) {
  std::vector<TypeRun> runs;
  int64_t at = static_cast<int64_t>(random->next() % 8);
  for (uint64_t i = 0, n = 1 + random->next() % 6; i < n; ++i) {
    runs.push_back({at, 1 + static_cast<int64_t>(random->next() % 9)});
    at += runs.back().bytes + 1 + static_cast<int64_t>(random->next() % 5);
  }
  TypeTree tree;
  tree.root = datatype::make_runs(runs);
  tree.size = tree.root.node->size;
  tree.extent = at + static_cast<int64_t>(random->next() % 7);
  tree.element = MPI_BYTE;
  return tree;
}

std::vector<int64_t> all_bytes(const TypeTree& tree, int64_t count) {
  std::vector<int64_t> places;
  datatype::for_each_run(tree, count, [&](int64_t offset, int64_t bytes) {
    for (int64_t i = 0; i < bytes; ++i) places.push_back(offset + i);
  });
  return places;
}

std::vector<uint8_t> written(const TypeTree& tree) {
  std::vector<uint8_t> bytes;
  write_layout(tree, &bytes);
  return bytes;
}
std::vector<uint8_t> written(int64_t extent, const std::vector<TypeRun>& runs) {
  std::vector<uint8_t> bytes;
  append(&bytes, extent);
  append(&bytes, MPI_BYTE);
  append(&bytes, static_cast<uint64_t>(runs.size()));
  for (const TypeRun& run : runs) append(&bytes, run);
  return bytes;
}
bool reads(const std::vector<uint8_t>& bytes, size_t size, TypeTree* out) {
  FieldReader in(bytes.data(), size);
  return read_layout(&in, out);
}

TEST(Layout, WalkPairsBytes) {
  RandomSequence random(2);
  for (int round = 0; round < 300; ++round) {
    const TypeTree a = random_tree(&random), b = random_tree(&random);
    const std::vector<int64_t> x = all_bytes(a, 4), y = all_bytes(b, 4);
    const auto bytes = std::min(x.size(), y.size());
    TypeCursor at_a(a), at_b(b);
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
  for (int round = 0; round < 100; ++round) {
    const TypeTree tree = random_tree(&random);
    const std::vector<uint8_t> bytes = written(tree);
    TypeTree back;
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(reads(bytes, n, &back));
    ASSERT_TRUE(reads(bytes, bytes.size(), &back));
    EXPECT_EQ(back.size, tree.size);
    EXPECT_TRUE(back.validate());
    EXPECT_EQ(all_bytes(back, 3), all_bytes(tree, 3));
  }
}

TEST(Layout, RefusesWhatNoDatatypeHas) {
  constexpr int64_t k62 = int64_t{1} << 62;
  TypeTree back;
  const auto reads_runs = [&](int64_t extent, const std::vector<TypeRun>& runs) {
    const std::vector<uint8_t> bytes = written(extent, runs);
    return reads(bytes, bytes.size(), &back);
  };
  EXPECT_TRUE(reads_runs(8, {{0, 4}, {5, 1}}));
  EXPECT_TRUE(reads_runs(-k62, {{-k62, 1}, {k62 - 1, 1}, {0, k62 - 2}}));
  EXPECT_FALSE(reads_runs(8, {}));
  EXPECT_FALSE(reads_runs(8, {{0, 0}}));
  EXPECT_FALSE(reads_runs(8, {{0, -1}}));
  EXPECT_FALSE(reads_runs(8, {{0, 4}, {4, 1}}));  // these would have been joined
  EXPECT_FALSE(reads_runs(k62 + 1, {{0, 4}}));
  EXPECT_FALSE(reads_runs(8, {{k62, 1}}));
  EXPECT_FALSE(reads_runs(8, {{-k62 - 1, 1}}));
  EXPECT_FALSE(reads_runs(8, {{-k62, k62}, {1, 1}}));  // more than 62 bits of data
  EXPECT_FALSE(reads_runs(8, {{INT64_MAX, INT64_MAX}}));
}

TEST(Layout, ReachIsCheckedAgainstOverflow) {
  TypeTree tree;
  tree.root = datatype::make_runs({{-2, 4}, {6, 1}});
  tree.size = 5;
  tree.extent = 16;
  int64_t low, high;
  ASSERT_TRUE(find_reach(tree, 3, 100, &low, &high));
  EXPECT_EQ(low, 98);
  EXPECT_EQ(high, 139);
  tree.extent = -16;
  ASSERT_TRUE(find_reach(tree, 3, 100, &low, &high));
  EXPECT_EQ(low, 66);
  EXPECT_EQ(high, 107);
  EXPECT_FALSE(find_reach(tree, -1, 0, &low, &high));
  EXPECT_FALSE(find_reach(tree, 1, INT64_MAX - 6, &low, &high));
  EXPECT_TRUE(find_reach(tree, 1, INT64_MAX - 7, &low, &high));
  EXPECT_FALSE(find_reach(tree, 1, INT64_MIN + 1, &low, &high));
  EXPECT_FALSE(find_reach(tree, INT64_MAX / 16, INT64_MIN / 2, &low, &high));
  tree.extent = 0;
  EXPECT_FALSE(find_reach(tree, INT64_MAX / 4, 0, &low, &high));
}

}  // namespace
}  // namespace fgmpi::rma
