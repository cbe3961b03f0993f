// Floating-point numbers of 2 bytes: IEEE 754's binary16 (MPI_REAL2, MPIX_C_FLOAT16, the parts of
// MPI_COMPLEX4) and bfloat16 (MPIX_BFLOAT16). All arithmetic is that of float, to which they
// convert by themselves. Each result is rounded once: to the nearest number, to the even one where
// two are as near. Compilers have types for them from GCC 12 and 13 on only.
//
//   sign  exponent  fraction
//     1       5        10      Half: up to 65504
//     1       8         7      Bfloat16: the upper half of a float
//
// Thread rule: values.
#pragma once

#include <bit>
#include <cstdint>

namespace fgmpi::datatype {

struct Half {
  Half() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): arithmetic is written as for other numbers.
  constexpr Half(float value) : bits(rounded(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const {
    const uint32_t sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(rest) * 0x1p-24f);
    const uint32_t exponents =
        rest < 0x7c00 ? kExponents : 2 * kExponents;  // infinite, not a number
    return std::bit_cast<float>(sign | (rest < 0x400 ? subnormal : (rest << 13) + exponents));
  }

  uint16_t bits;

 private:
  /// The difference of the exponents' biases, in a float's bits.
  static constexpr uint32_t kExponents = (127 - 15) << 23;

  static constexpr uint16_t rounded(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value), rest = all & 0x7fffffff;
    uint32_t half = (rest + 0xfff + (rest >> 13 & 1) - kExponents) >> 13;
    if (rest < 0x38800000)  // subnormal: 0.5 has the unit 2^-24 in its last place, as these have
      half = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000;
    if (rest >= 0x47800000) half = 0x7c00;
    if (rest > 0x7f800000) half = 0x7e00 | (rest >> 13 & 0x1ff);
    return static_cast<uint16_t>(half | (all >> 16 & 0x8000));
  }
};
static_assert(sizeof(Half) == 2);

/// The element of MPI_COMPLEX4.
struct HalfComplex {
  using value_type = Half;
  Half real, imaginary;
};

struct Bfloat16 {
  Bfloat16() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): arithmetic is written as for other numbers.
  constexpr Bfloat16(float value) : bits(rounded(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

  uint16_t bits;

 private:
  static constexpr uint16_t rounded(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    if ((all & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(all >> 16 | 0x40);
    return static_cast<uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
};
static_assert(sizeof(Bfloat16) == 2);

}  // namespace fgmpi::datatype
