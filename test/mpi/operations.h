// A model of the predefined operations: which there are, the values that tests reduce, and what
// comes out, written into images of memory without touching gaps.
#ifndef FGMPI_TEST_OPERATIONS_H
#define FGMPI_TEST_OPERATIONS_H

#include <float.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <complex>
#include <type_traits>

#include "mpitest.h"

constexpr unsigned char kGap = 0xA5;

// Sets of operations, one bit each.
enum : unsigned { kOrder = 1, kSums = 2, kLogical = 4, kBitwise = 8, kLocating = 16, kMoving = 32 };
constexpr unsigned kAll = kOrder | kSums | kLogical | kBitwise;
struct Operation {
  MPI_Op op;
  unsigned set;
};
const Operation kOps[] = {{MPI_MAX, kOrder},      {MPI_MIN, kOrder},       {MPI_SUM, kSums},
                          {MPI_PROD, kSums},      {MPI_LAND, kLogical},    {MPI_LOR, kLogical},
                          {MPI_LXOR, kLogical},   {MPI_BAND, kBitwise},    {MPI_BOR, kBitwise},
                          {MPI_BXOR, kBitwise},   {MPI_MAXLOC, kLocating}, {MPI_MINLOC, kLocating},
                          {MPI_REPLACE, kMoving}, {MPI_NO_OP, kMoving}};

template <class V, class I>
struct Located {
  V value;
  I where;
};
template <class T>
struct IsLocated : std::false_type {};
template <class V, class I>
struct IsLocated<Located<V, I>> : std::true_type {};
template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

/// Bytes of a type's value: ten of the sixteen of x86's long double.
constexpr size_t kLongDouble = sizeof(long double);
constexpr size_t kLongDoubleValue = LDBL_MANT_DIG == 64 ? 10 : kLongDouble;
template <class T>
constexpr size_t kValueBytes = std::is_same_v<T, long double> ? kLongDoubleValue : sizeof(T);

/// Writes the value, but nothing else.
template <class T>
void store(unsigned char* at, const T& value) {
  if constexpr (IsLocated<T>::value) {
    store(at, value.value);
    store(at + offsetof(T, where), value.where);
  } else if constexpr (IsComplex<T>::value) {
    store(at, value.real());
    store(at + sizeof(T) / 2, value.imag());
  } else {
    memcpy(at, &value, kValueBytes<T>);
  }
}

template <class T>
T number(int v) {
  if constexpr (IsLocated<T>::value)
    return {static_cast<decltype(T::value)>(v / 2), static_cast<decltype(T::where)>(v)};
  else if constexpr (IsComplex<T>::value)
    return T(static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(v % 3));
  else
    return static_cast<T>(v);
}

/// What is at the target after a `op` b, a being the origin's.
template <class T>
T applied(MPI_Op op, T a, T b) {
  if (op == MPI_REPLACE) return a;
  if (op == MPI_NO_OP) return b;
  if constexpr (IsLocated<T>::value) {
    const bool more = op == MPI_MAXLOC ? a.value > b.value : a.value < b.value;
    return more || (a.value == b.value && a.where < b.where) ? a : b;
  } else {
    if (op == MPI_SUM) return static_cast<T>(a + b);
    if (op == MPI_PROD) return static_cast<T>(a * b);
    if constexpr (!IsComplex<T>::value) {
      if (op == MPI_MAX) return a > b ? a : b;
      if (op == MPI_MIN) return a < b ? a : b;
      if (op == MPI_LAND) return static_cast<T>(a && b);
      if (op == MPI_LOR) return static_cast<T>(a || b);
      if (op == MPI_LXOR) return static_cast<T>(!a != !b);
    }
    if constexpr (std::is_integral_v<T>) {
      if (op == MPI_BAND) return static_cast<T>(a & b);
      if (op == MPI_BOR) return static_cast<T>(a | b);
      if (op == MPI_BXOR) return static_cast<T>(a ^ b);
    }
    CHECK(!"an operation that this type has");
    return b;
  }
}

/// Forgets what a long double has beyond its value, in each of `count` elements that begin `stride`
/// bytes apart.
template <class T>
void forget_padding(unsigned char* image, size_t stride, int count) {
  constexpr bool kPair = std::is_same_v<T, Located<long double, int>>;
  if constexpr (kPair || std::is_same_v<T, long double> ||
                std::is_same_v<T, std::complex<long double>>) {
    for (size_t e = 0; e < static_cast<size_t>(count); ++e)
      for (size_t part = 0; part < (kPair ? 1 : sizeof(T) / kLongDouble); ++part)
        memset(image + e * stride + part * kLongDouble + kLongDoubleValue, 0,
               kLongDouble - kLongDoubleValue);
  }
}

#endif
