// The loops that fold two, four or eight operands in one pass.

#include "coll/fan_in.h"

#include <complex>
#include <cstring>
#include <type_traits>

#include "base/processor.h"
#include "datatype/basic_type.h"

namespace fgmpi::coll {
namespace {

constexpr size_t kLine = 64;
/// How many bytes ahead are prefetched, measured from the current line. The stream of one source is
/// too short for the processor to predict, as pieces alternate between sources.
constexpr size_t kAhead = 2048;

/// A cache line of elements; compiled for the registers that the target has.
template <class T>
struct VectorLine {
  typedef T type __attribute__((vector_size(kLine), aligned(1), may_alias));
};
template <class T>
struct UnalignedElement {
  typedef T type __attribute__((aligned(1), may_alias));
};

// The expressions are those of datatype/op_kernels.h, for elements and lines alike.
struct Sum {
  template <class V>
  [[gnu::always_inline]] static V apply(const V& x, const V& y) {
    return x + y;
  }
};
struct Product {
  template <class V>
  [[gnu::always_inline]] static V apply(const V& x, const V& y) {
    return x * y;
  }
};
struct Maximum {
  template <class V>
  [[gnu::always_inline]] static V apply(const V& x, const V& y) {
    return x > y ? x : y;
  }
};
struct Minimum {
  template <class V>
  [[gnu::always_inline]] static V apply(const V& x, const V& y) {
    return x < y ? x : y;
  }
};

/// The fold of the elements (or lines) at `at` bytes behind n addresses. Memory::type is the type
/// there; as an argument of a template it would lose its alignment of 1.
template <class F, class V, class Memory, size_t n>
[[gnu::always_inline]] inline V tree(const char* const* sources, size_t at) {
  if constexpr (n == 1) {
    return *reinterpret_cast<const typename Memory::type*>(sources[0] + at);
  } else {
    return F::apply(tree<F, V, Memory, n / 2>(sources, at),
                    tree<F, V, Memory, n / 2>(sources + n / 2, at));
  }
}

template <class T, class F, size_t n>
[[gnu::always_inline]] inline void fold(const char* const* from, size_t offset, char* out,
                                        int64_t count) {
  using L = typename VectorLine<T>::type;
  using E = typename UnalignedElement<T>::type;
  const char* sources[n];
  for (size_t k = 0; k < n; ++k) sources[k] = from[k] + offset;
  size_t bytes = static_cast<size_t>(count) * sizeof(T), lines = bytes & ~(kLine - 1), at = 0;
  for (; at < lines; at += kLine) {
    for (size_t k = 0; k < n; ++k) __builtin_prefetch(sources[k] + at + kAhead);
    *reinterpret_cast<L*>(out + at) = tree<F, L, VectorLine<T>, n>(sources, at);
  }
  for (; at < bytes; at += sizeof(T))
    *reinterpret_cast<E*>(out + at) = tree<F, T, UnalignedElement<T>, n>(sources, at);
}

/// One instance for each kind of registers.
template <class T, class F, size_t n>
void narrow(const char* const* from, size_t offset, char* out, int64_t count) {
  fold<T, F, n>(from, offset, out, count);
}
template <class T, class F, size_t n>
FGMPI_FOR_AVX2 void wide(const char* const* from, size_t offset, char* out, int64_t count) {
  fold<T, F, n>(from, offset, out, count);
}
template <class T, class F, size_t n>
FGMPI_FOR_AVX512 void widest(const char* const* from, size_t offset, char* out, int64_t count) {
  fold<T, F, n>(from, offset, out, count);
}

template <class T, class F>
const FanIn* kernels(Registers registers) {
  static constexpr FanIn baseline = {narrow<T, F, 2>, narrow<T, F, 4>, narrow<T, F, 8>};
  if constexpr (processor::kHasWiderRegisters) {
    static constexpr FanIn wider[] = {{wide<T, F, 2>, wide<T, F, 4>, wide<T, F, 8>},
                                      {widest<T, F, 2>, widest<T, F, 4>, widest<T, F, 8>}};
    if (registers == Registers::kAvx2) return &wider[0];
    if (registers == Registers::kAvx512) return &wider[1];
  }
  return &baseline;
}

template <class T>
const FanIn* of_type(MPI_Op op, Registers r) {
  if constexpr (std::is_integral_v<T>) {
    // Sums and products must wrap, as those of unsigned numbers do.
    using U = std::make_unsigned_t<T>;
    if (op == MPI_SUM) return kernels<U, Sum>(r);
    if (op == MPI_PROD) return kernels<U, Product>(r);
  } else {
    if (op == MPI_SUM) return kernels<T, Sum>(r);
    if (op == MPI_PROD) return kernels<T, Product>(r);
  }
  if (op == MPI_MAX) return kernels<T, Maximum>(r);
  return op == MPI_MIN ? kernels<T, Minimum>(r) : nullptr;
}

/// The kernels for an element type, which is treated as one of the six types that have kernels.
template <datatype::BasicKind kind, class T>
const FanIn* of(MPI_Op op, Registers r) {
  if constexpr (kind == datatype::BasicKind::kFloat && (sizeof(T) == 4 || sizeof(T) == 8)) {
    return of_type<std::conditional_t<sizeof(T) == 4, float, double>>(op, r);
  } else if constexpr (kind == datatype::BasicKind::kInteger &&
                       (sizeof(T) == 4 || sizeof(T) == 8)) {
    using Signed = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    return of_type<std::conditional_t<std::is_signed_v<T>, Signed, std::make_unsigned_t<Signed>>>(
        op, r);
  } else {
    return nullptr;
  }
}

}  // namespace

const FanIn* fan_in(MPI_Op op, const datatype::Type& type, Registers registers) {
  using datatype::PairOf;
  switch (datatype::values_of(type)) {
#define FGMPI_BASIC_TYPE(name, kind, ctype) \
  case name:                                \
    return of<datatype::BasicKind::kind, ctype>(op, registers);
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
    default:
      return nullptr;
  }
}

}  // namespace fgmpi::coll
