#include "datatype/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "datatype/op.h"

namespace fgmpi::datatype {
namespace {

template <class T>
T of_bits(uint16_t bits) {
  return std::bit_cast<T>(bits);
}

/// The value by its definition.
float naive(uint16_t bits, int fraction_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> fraction_bits,
            fraction = bits & ((1 << fraction_bits) - 1);
  const int largest = (1 << (15 - fraction_bits)) - 1;
  float value = std::ldexp(static_cast<float>(fraction + (exponent ? 1 << fraction_bits : 0)),
                           (exponent ? exponent : 1) - bias - fraction_bits);
  if (exponent == largest) value = fraction ? NAN : INFINITY;
  return bits & 0x8000 ? -value : value;
}

template <class T>
void check_all(int fraction_bits, int bias) {
  std::mt19937 random(3);
  float before = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = of_bits<T>(static_cast<uint16_t>(bits));
    const float wanted = naive(static_cast<uint16_t>(bits), fraction_bits, bias);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(static_cast<float>(T(value))));
      continue;
    }
    ASSERT_EQ(value, wanted) << std::hex << bits;
    ASSERT_EQ(T(value).bits, bits);
    // Of two neighbours, the nearer one; the even one where both are as near.
    const bool has_lower = (bits & 0x7fff) != 0 && !std::isinf(value);
    if (has_lower) {
      const float middle = before + (value - before) / 2;
      const auto lower = static_cast<uint16_t>(bits - 1), upper = static_cast<uint16_t>(bits);
      ASSERT_EQ(T(middle).bits, bits % 2 ? lower : upper) << std::hex << bits;
      ASSERT_EQ(T(std::nextafter(middle, before)).bits, lower) << std::hex << bits;
      ASSERT_EQ(T(std::nextafter(middle, value)).bits, upper) << std::hex << bits;
    }
    before = value;
  }
  EXPECT_EQ(static_cast<float>(T(-std::numeric_limits<float>::infinity())), -INFINITY);
  EXPECT_EQ(static_cast<float>(T(std::numeric_limits<float>::max())), INFINITY);
}

TEST(Half, ConvertsAllValuesAndRoundsToTheNearest) {
  check_all<Half>(10, 15);
  EXPECT_EQ(Half(65519.996F).bits, 0x7bff);
  EXPECT_EQ(Half(65520).bits, 0x7c00);
}

TEST(Half, Bfloat16Too) { check_all<Bfloat16>(7, 127); }

template <class T>
void check_operations(MPI_Datatype handle) {
  Type type;
  ASSERT_TRUE(Type::of(handle, &type).ok());
  EXPECT_EQ(type.size(), static_cast<int64_t>(sizeof(T)));
  const float in[] = {1.5F, -2, 0, 3}, inout[] = {2, 0.25F, -1, 3};
  struct {
    MPI_Op op;
    float results[4];
  } const cases[] = {{MPI_SUM, {3.5F, -1.75F, -1, 6}},
                     {MPI_PROD, {3, -0.5F, 0, 9}},
                     {MPI_MAX, {2, 0.25F, 0, 3}},
                     {MPI_MIN, {1.5F, -2, -1, 3}},
                     {MPI_LXOR, {0, 0, 1, 0}}};
  for (const auto& c : cases)
    for (size_t skew : {0, 1}) {
      char a[5 * sizeof(T)], b[5 * sizeof(T)];
      for (size_t i = 0; i < 4; ++i) {
        const T x(in[i]), y(inout[i]);
        std::memcpy(a + skew + i * sizeof(T), &x, sizeof x);
        std::memcpy(b + skew + i * sizeof(T), &y, sizeof y);
      }
      ASSERT_TRUE(reduce_local(a + skew, b + skew, 4, type, c.op).ok());
      for (size_t i = 0; i < 4; ++i) {
        T got;
        std::memcpy(&got, b + skew + i * sizeof(T), sizeof got);
        EXPECT_EQ(static_cast<float>(got), c.results[i]);
      }
    }
  EXPECT_EQ(check_op(MPI_BAND, 1, type).error_class(), MPI_ERR_OP);
}

TEST(Half, Reductions) {
  check_operations<Half>(MPI_REAL2);
  check_operations<Half>(MPIX_C_FLOAT16);
  check_operations<Bfloat16>(MPIX_BFLOAT16);
  Type type;
  ASSERT_TRUE(Type::of(MPI_COMPLEX4, &type).ok());
  const HalfComplex x{1, 2};  // (1 + 2i)(3 + 4i) = -5 + 10i
  HalfComplex y{3, 4};
  ASSERT_TRUE(reduce_local(&x, &y, 1, type, MPI_PROD).ok());
  EXPECT_EQ(y.real, -5);
  EXPECT_EQ(y.imaginary, 10);
  ASSERT_TRUE(reduce_local(&x, &y, 1, type, MPI_SUM).ok());
  EXPECT_EQ(y.real, -4);
  EXPECT_EQ(y.imaginary, 12);
}

}  // namespace
}  // namespace fgmpi::datatype
