#include "coll/fan_in.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "datatype/basic_type.h"
#include "datatype/op.h"

namespace fgmpi::coll {
namespace {

using datatype::Type;

/// Computes the tree that fan_in.h draws, for single numbers in memory of any alignment.
template <class T, class F>
T tree(const char* const* at, size_t n, F op) {
  if (n == 1) {
    T value;
    std::memcpy(&value, at[0], sizeof value);
    return value;
  }
  return op(tree<T>(at, n / 2, op), tree<T>(at + n / 2, n / 2, op));
}

template <class T>
T naive(const char* const* at, size_t n, MPI_Op op) {
  // Arithmetic of integers wraps.
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::type_identity<T>>::type;
  if (op == MPI_SUM) return tree<T>(at, n, [](T x, T y) { return static_cast<T>(U(x) + U(y)); });
  if (op == MPI_PROD) return tree<T>(at, n, [](T x, T y) { return static_cast<T>(U(x) * U(y)); });
  if (op == MPI_MAX) return tree<T>(at, n, [](T x, T y) { return x > y ? x : y; });
  return tree<T>(at, n, [](T x, T y) { return x < y ? x : y; });
}

/// Makes operands of random bytes: all kinds of numbers, infinities and NaNs included.
std::vector<std::vector<char>> operands(std::mt19937_64& random, size_t n, size_t bytes) {
  std::vector<std::vector<char>> all(n, std::vector<char>(bytes));
  for (auto& v : all)
    for (char& c : v) c = static_cast<char>(random());
  return all;
}

/// Tests one kernel on `count` elements that begin `skew` bytes behind aligned memory.
template <class T>
void expect_fold(const FanIn& kernels, size_t n, MPI_Op op, size_t count, size_t skew,
                 std::mt19937_64& random) {
  constexpr size_t kOffset = 5;
  size_t bytes = count * sizeof(T);
  auto all = operands(random, n, skew + kOffset + bytes);
  std::vector<const char*> sources;
  for (auto& v : all) sources.push_back(v.data() + skew);
  std::vector<char> out(skew + bytes + 1, 42);
  FanInKernel kernel = n == 8 ? kernels.eight : n == 4 ? kernels.four : kernels.two;
  kernel(sources.data(), kOffset, out.data() + skew, static_cast<int64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    std::vector<const char*> at;
    for (const char* s : sources) at.push_back(s + kOffset + i * sizeof(T));
    T expected = naive<T>(at.data(), n, op), got;
    std::memcpy(&got, out.data() + skew + i * sizeof(T), sizeof got);
    // A NaN has the sign and payload of the operand that the instruction names first.
    if (expected != expected && got != got) continue;
    ASSERT_EQ(std::memcmp(&got, &expected, sizeof got), 0)
        << "element " << i << " of " << count << ", " << n << " operands, skew " << skew;
  }
  EXPECT_EQ(out.back(), 42);
  for (size_t i = 0; i < skew; ++i) EXPECT_EQ(out[i], 42);
}

/// Tests all kernels of a type for an operation in these registers; a type has all kernels or none.
template <datatype::BasicKind kind, class T>
void expect_kernels(MPI_Datatype handle, MPI_Op op, Registers registers, std::mt19937_64& random) {
  Type type;
  ASSERT_TRUE(Type::of(handle, &type).ok());
  const FanIn* kernels = fan_in(op, type, registers);
  if constexpr ((kind == datatype::BasicKind::kInteger || kind == datatype::BasicKind::kFloat) &&
                (sizeof(T) == 4 || sizeof(T) == 8)) {
    ASSERT_NE(kernels, nullptr);
    for (size_t count : {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 1001})
      for (size_t n : {2, 4, 8})
        for (size_t skew : {0, 1, 4, 8, 19}) expect_fold<T>(*kernels, n, op, count, skew, random);
  } else {
    EXPECT_EQ(kernels, nullptr);
  }
}

TEST(FanIn, EveryKindOfRegistersFoldsAsTheNaiveTree) {
  std::mt19937_64 random(11);
  EXPECT_EQ(usable_registers().back(), widest_registers());
  for (Registers registers : usable_registers())
    for (MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX}) {
      SCOPED_TRACE(testing::Message()
                   << "registers " << static_cast<int>(registers) << ", op " << std::hex << op);
      using datatype::PairOf;
#define FGMPI_BASIC_TYPE(name, kind, ctype)                                        \
  {                                                                                \
    SCOPED_TRACE(#name);                                                           \
    expect_kernels<datatype::BasicKind::kind, ctype>(name, op, registers, random); \
    if (testing::Test::HasFatalFailure()) return;                                  \
  }
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
    }
}

/// Without kernels fold.h computes the same tree, by pairs, with datatype::reduce_local.
TEST(FanIn, IsTheTreeByPairs) {
  std::mt19937_64 random(12);
  Type type;
  ASSERT_TRUE(Type::of(MPI_INT, &type).ok());
  for (MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX}) {
    auto all = operands(random, 2, 999 * sizeof(int));
    const char* sources[] = {all[0].data(), all[1].data()};
    std::vector<char> out(999 * sizeof(int));
    fan_in(op, type)->two(sources, 0, out.data(), 999);
    ASSERT_TRUE(datatype::reduce_local(sources[0], all[1].data(), 999, type, op).ok());
    EXPECT_EQ(out, all[1]);
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
