// The loops behind the predefined operations: one function per operation and element type.
//
// Elements may have any address (a packed buffer), so they are read and written through a type of
// alignment 1; the compiler makes vector loops of these all the same. Integer arithmetic wraps.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "datatype/basic_type.h"
#include "datatype/reducer.h"

namespace fgmpi::datatype {

/// The number of predefined operations, which are indexed by the low byte of their handles.
inline constexpr int kOperations = 15;

namespace kernels {

template <class T>
struct Unaligned {
  typedef T type __attribute__((aligned(1)));
};

/// Functions of a class (Half) may not be called on an object at such an address.
template <class T>
inline T load(const typename Unaligned<T>::type* at) {
  if constexpr (!std::is_class_v<T>) return *at;
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
inline void store(typename Unaligned<T>::type* at, T value) {
  if constexpr (std::is_class_v<T>)
    std::memcpy(at, &value, sizeof value);
  else
    *at = value;
}

template <class T, class F>
inline void each(const void* in, void* inout, int64_t count, F f) {
  using U = typename Unaligned<T>::type;
  const U* __restrict a = static_cast<const U*>(in);
  U* __restrict b = static_cast<U*>(inout);
  for (int64_t i = 0; i < count; ++i) store<T>(&b[i], f(load<T>(&a[i]), load<T>(&b[i])));
}

/// The type for arithmetic that wraps: unsigned, and wide enough not to be promoted to int.
template <class T>
struct Wrapping {
  using type =
      std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};
template <>
struct Wrapping<Integer16> {  // no integer to the standard's traits
  __extension__ using type = unsigned __int128;
};

template <class T, bool = std::is_integral_v<T> || std::is_same_v<T, Integer16>>
struct Arithmetic {
  static T sum(T x, T y) { return x + y; }
  static T product(T x, T y) { return x * y; }
};
template <class T>
struct Arithmetic<T, true> {
  using W = typename Wrapping<T>::type;
  static T sum(T x, T y) { return static_cast<T>(static_cast<W>(x) + static_cast<W>(y)); }
  static T product(T x, T y) { return static_cast<T>(static_cast<W>(x) * static_cast<W>(y)); }
};
#define FGMPI_KERNEL(name, expression)                                   \
  template <class T>                                                     \
  void name(const void* in, void* inout, int64_t count) {                \
    each<T>(in, inout, count, [](T x, T y) -> T { return expression; }); \
  }
FGMPI_KERNEL(maximum, x > y ? x : y)
FGMPI_KERNEL(minimum, x < y ? x : y)
FGMPI_KERNEL(sum, Arithmetic<T>::sum(x, y))
FGMPI_KERNEL(product, Arithmetic<T>::product(x, y))
FGMPI_KERNEL(logical_and, static_cast<T>(int{x != 0} & int{y != 0}))
FGMPI_KERNEL(logical_or, static_cast<T>(int{x != 0} | int{y != 0}))
FGMPI_KERNEL(logical_xor, static_cast<T>((x != 0) ^ (y != 0)))
FGMPI_KERNEL(bit_and, static_cast<T>(x& y))
FGMPI_KERNEL(bit_or, static_cast<T>(x | y))
FGMPI_KERNEL(bit_xor, static_cast<T>(x ^ y))
#undef FGMPI_KERNEL

/// A sum of complex numbers is one of their parts. V: the type of a part.
template <class V>
void complex_sum(const void* in, void* inout, int64_t count) {
  sum<V>(in, inout, 2 * count);
}
template <class V>
void complex_product(const void* in, void* inout, int64_t count) {
  using U = typename Unaligned<V>::type;
  const U* __restrict a = static_cast<const U*>(in);
  U* __restrict b = static_cast<U*>(inout);
  for (int64_t i = 0; i < 2 * count; i += 2) {
    const V re = load<V>(&a[i]), im = load<V>(&a[i + 1]);
    const V other_re = load<V>(&b[i]), other_im = load<V>(&b[i + 1]);
    store<V>(&b[i], re * other_re - im * other_im);
    store<V>(&b[i + 1], re * other_im + im * other_re);
  }
}

/// The better value with its index; of equal values the smaller index (MPI-4.0 section
/// 6.9.4). Value and index are accessed separately: the gap behind a value or an index
/// belongs to the program.
template <class P, bool kMaximum>
void locate(const void* in, void* inout, int64_t count) {
  const char* a = static_cast<const char*>(in);
  char* b = static_cast<char*>(inout);
  for (int64_t i = 0; i < count; ++i, a += sizeof(P), b += sizeof(P)) {
    P x, y;
    std::memcpy(&x.value, a, sizeof x.value);
    std::memcpy(&y.value, b, sizeof y.value);
    const bool better = kMaximum ? x.value > y.value : x.value < y.value;
    if (!better && x.value != y.value) continue;
    std::memcpy(&x.index, a + offsetof(P, index), sizeof x.index);
    std::memcpy(&y.index, b + offsetof(P, index), sizeof y.index);
    if (better) std::memcpy(b, &x.value, sizeof x.value);
    if (better || x.index < y.index) std::memcpy(b + offsetof(P, index), &x.index, sizeof x.index);
  }
}

/// The reducers of one kind and element type; nullptr where the operation is not defined. Order:
/// (unused), MAX, MIN, SUM, PROD, LAND, BAND, LOR, BOR, LXOR, BXOR, MINLOC, MAXLOC, REPLACE, NO_OP.
template <BasicKind kind, class T>
struct ReducerRow {
  static constexpr Reducer reducers[kOperations] = {};
};
template <class T>
struct ReducerRow<BasicKind::kInteger, T> {
  static constexpr Reducer reducers[kOperations] = {
      nullptr,    maximum<T>,    minimum<T>, sum<T>,         product<T>, logical_and<T>,
      bit_and<T>, logical_or<T>, bit_or<T>,  logical_xor<T>, bit_xor<T>};
};
template <class T>
struct ReducerRow<BasicKind::kFloat, T> {
  // MPICH defines logical operations here, the standard does not.
  static constexpr Reducer reducers[kOperations] = {
      nullptr,        maximum<T>, minimum<T>,    sum<T>,  product<T>,
      logical_and<T>, nullptr,    logical_or<T>, nullptr, logical_xor<T>};
};
template <class T>
struct ReducerRow<BasicKind::kComplex, T> {
  using V = typename T::value_type;
  static constexpr Reducer reducers[kOperations] = {nullptr, nullptr, nullptr, complex_sum<V>,
                                                    complex_product<V>};
};
template <class T>
struct ReducerRow<BasicKind::kLogical, T> {
  static constexpr Reducer reducers[kOperations] = {nullptr, nullptr,        nullptr, nullptr,
                                                    nullptr, logical_and<T>, nullptr, logical_or<T>,
                                                    nullptr, logical_xor<T>};
};
template <class T>
struct ReducerRow<BasicKind::kBytes, T> {
  static constexpr Reducer reducers[kOperations] = {nullptr,   nullptr, nullptr,    nullptr,
                                                    nullptr,   nullptr, bit_and<T>, nullptr,
                                                    bit_or<T>, nullptr, bit_xor<T>};
};
template <class P>
struct ReducerRow<BasicKind::kPair, P> {
  static constexpr Reducer reducers[kOperations] = {
      nullptr, nullptr, nullptr, nullptr, nullptr,          nullptr,        nullptr,
      nullptr, nullptr, nullptr, nullptr, locate<P, false>, locate<P, true>};
};

}  // namespace kernels
}  // namespace fgmpi::datatype
