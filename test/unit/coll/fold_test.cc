#include "coll/fold.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace fgmpi::coll {
namespace {

Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}

/// Computes the tree that fold.h draws, for one element.
double tree(const std::vector<double>& v, size_t first, size_t n) {
  if (n == 1) return v[first];
  size_t left = std::bit_floor(n - 1);
  return tree(v, first, left) + tree(v, first + left, n - left);
}

TEST(Fold, IsTheTreeOverRanksBitForBit) {
  Type type = type_of(MPI_DOUBLE);
  std::mt19937_64 random(3);
  for (size_t members : {1, 2, 3, 4, 5, 7, 8, 9, 31, 100})
    for (int64_t count : {1, 7, 1024, 5000}) {
      std::vector<std::vector<double>> in(members);
      std::vector<const char*> sources;
      for (auto& v : in) {
        for (int64_t i = 0; i < count; ++i)
          v.push_back(1.0 / static_cast<double>(1 + random() % 1000003));
        sources.push_back(reinterpret_cast<const char*>(v.data()));
      }
      std::vector<double> out(static_cast<size_t>(count));
      Reduction r{&type, count, MPI_SUM, true};
      ASSERT_TRUE(fold_all(r, sources, reinterpret_cast<char*>(out.data())).ok());
      for (size_t i = 0; i < out.size(); ++i) {
        std::vector<double> column;
        for (auto& v : in) column.push_back(v[i]);
        EXPECT_EQ(out[i], tree(column, 0, members));
      }
    }
}

TEST(Fold, LeavesTheSourcesAlone) {
  Type type = type_of(MPI_INT);
  std::vector<int> a{1, 2, 3}, b{10, 20, 30}, c{5, 5, 5}, out(3);
  std::vector<const char*> sources;
  for (auto* v : {&a, &b, &c}) sources.push_back(reinterpret_cast<const char*>(v->data()));
  Reduction r{&type, 3, MPI_MAX, true};
  ASSERT_TRUE(fold_all(r, sources, reinterpret_cast<char*>(out.data())).ok());
  EXPECT_EQ(out, (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(a, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(c, (std::vector<int>{5, 5, 5}));
}

TEST(Fold, AnOperationThatIsNotDefinedIsAnError) {
  Type type = type_of(MPI_DOUBLE);
  double a = 1, b = 2, out = 0;
  std::vector<const char*> sources{reinterpret_cast<char*>(&a), reinterpret_cast<char*>(&b)};
  Reduction r{&type, 1, MPI_BAND, true};
  EXPECT_EQ(fold_all(r, sources, reinterpret_cast<char*>(&out)).error_class(), MPI_ERR_OP);
}

TEST(Operand, HoldsEveryElement) {
  Type type = type_of(MPI_DOUBLE);
  Operand operand(type, 100);
  std::memset(operand.at(), 1, 800);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(operand.at()) % 16, 0u);
}

}  // namespace
}  // namespace fgmpi::coll
