#include "coll/fan_in.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "host/op.h"

namespace fgmpi::coll {
namespace {

using host::Type;

/// The same tree by pairs of host::reduce_local.
std::vector<char> by_pairs(const char* const* sources, size_t n, size_t bytes, int64_t count,
                           const Type& type, MPI_Op op) {
  if (n == 1) return std::vector<char>(sources[0], sources[0] + bytes);
  std::vector<char> left = by_pairs(sources, n / 2, bytes, count, type, op);
  std::vector<char> right = by_pairs(sources + n / 2, n / 2, bytes, count, type, op);
  EXPECT_TRUE(host::reduce_local(left.data(), right.data(), count, type, op).ok());
  return right;
}

/// Random bytes are all kinds of numbers, the infinite and the undefined ones included.
std::vector<std::vector<char>> operands(std::mt19937_64& random, size_t n, size_t bytes) {
  std::vector<std::vector<char>> all(n, std::vector<char>(bytes));
  for (auto& v : all)
    for (char& c : v) c = static_cast<char>(random());
  return all;
}

TEST(FanIn, IsTheTreeByPairsBitForBit) {
  std::mt19937_64 random(11);
  for (MPI_Datatype handle : {MPI_FLOAT, MPI_DOUBLE, MPI_INT, MPI_UNSIGNED, MPI_LONG,
                              MPI_UNSIGNED_LONG, MPI_INT32_T, MPI_UINT64_T, MPI_AINT, MPI_REAL8})
    for (MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX}) {
      Type type;
      ASSERT_TRUE(Type::of(handle, &type).ok());
      const FanIn* kernels = fan_in(op, type);
      ASSERT_NE(kernels, nullptr);
      for (int64_t count : {0, 1, 7, 8, 16, 17, 1000})
        for (size_t n : {2, 4, 8}) {
          size_t bytes = static_cast<size_t>(count * type.size()), offset = 5;
          auto all = operands(random, n, bytes + offset);
          std::vector<const char*> sources, from;
          for (auto& v : all) {
            sources.push_back(v.data());
            from.push_back(v.data() + offset);
          }
          std::vector<char> out(bytes + 1, 42);
          FanInKernel kernel = n == 8 ? kernels->eight : n == 4 ? kernels->four : kernels->two;
          kernel(sources.data(), offset, out.data(), count);
          auto expected = by_pairs(from.data(), n, bytes, count, type, op);
          // A NaN's sign and payload are whichever operand the instruction names first.
          bool floating = handle == MPI_FLOAT || handle == MPI_DOUBLE || handle == MPI_REAL8;
          for (int64_t i = 0; i < count; ++i) {
            const char *a = out.data() + i * type.size(), *b = expected.data() + i * type.size();
            double x = 0, y = 0;
            if (floating && type.size() == 8) {
              std::memcpy(&x, a, 8);
              std::memcpy(&y, b, 8);
            } else if (floating) {
              float p, q;
              std::memcpy(&p, a, 4);
              std::memcpy(&q, b, 4);
              x = p, y = q;
            }
            if (x != x && y != y) continue;
            ASSERT_EQ(std::memcmp(a, b, static_cast<size_t>(type.size())), 0);
          }
          EXPECT_EQ(out[bytes], 42);
        }
    }
}

TEST(FanIn, TheResultMayBeOneOfTheSources) {
  Type type;
  ASSERT_TRUE(Type::of(MPI_DOUBLE, &type).ok());
  std::vector<double> a(100, 1.5), b(100, 2.25);
  const char* sources[] = {reinterpret_cast<char*>(a.data()), reinterpret_cast<char*>(b.data())};
  fan_in(MPI_SUM, type)->two(sources, 0, reinterpret_cast<char*>(b.data()), 100);
  EXPECT_EQ(b, std::vector<double>(100, 3.75));
}

TEST(FanIn, OtherPairsHaveNone) {
  Type type;
  ASSERT_TRUE(Type::of(MPI_LONG_DOUBLE, &type).ok());
  EXPECT_EQ(fan_in(MPI_SUM, type), nullptr);
  ASSERT_TRUE(Type::of(MPI_CHAR, &type).ok());
  EXPECT_EQ(fan_in(MPI_SUM, type), nullptr);
  ASSERT_TRUE(Type::of(MPI_INT, &type).ok());
  EXPECT_EQ(fan_in(MPI_BAND, type), nullptr);
  ASSERT_TRUE(Type::of(MPI_2INT, &type).ok());
  EXPECT_EQ(fan_in(MPI_MINLOC, type), nullptr);
}

}  // namespace
}  // namespace fgmpi::coll
