// Every predefined operation on every predefined type, C's and Fortran's, in short and long
// reductions: the right result where MPI-4.0 section 6.9.2 defines it, MPI_ERR_OP where it does
// not.
#include <stdint.h>
#include <string.h>

#include <complex>
#include <vector>

#include "mpitest.h"

namespace {

/// gfortran's real(16).
#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;
#endif

// Sets of operations, one bit each.
enum : unsigned {
  kOrder = 1,     // MAX, MIN
  kSums = 2,      // SUM, PROD
  kLogical = 4,   // LAND, LOR, LXOR
  kBitwise = 8,   // BAND, BOR, BXOR
  kLocating = 16  // MAXLOC, MINLOC
};
struct Operation {
  MPI_Op op;
  unsigned set;
};
const Operation kOps[] = {{MPI_MAX, kOrder},    {MPI_MIN, kOrder},       {MPI_SUM, kSums},
                          {MPI_PROD, kSums},    {MPI_LAND, kLogical},    {MPI_LOR, kLogical},
                          {MPI_LXOR, kLogical}, {MPI_BAND, kBitwise},    {MPI_BOR, kBitwise},
                          {MPI_BXOR, kBitwise}, {MPI_MAXLOC, kLocating}, {MPI_MINLOC, kLocating},
                          {MPI_REPLACE, 0},     {MPI_NO_OP, 0}};

int g_rank, g_size;

template <class V, class I>
struct Located {
  V value;
  I where;
  bool operator==(const Located& o) const { return value == o.value && where == o.where; }
};

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <class T>
struct IsLocated : std::false_type {};
template <class V, class I>
struct IsLocated<Located<V, I>> : std::true_type {};
template <class T>
constexpr bool kIsInteger = std::is_integral_v<T>;

/// Element i of a rank: few values, so that ties are common, products exact, zeros there.
template <class T>
T brought(int rank, int i, MPI_Op op) {
  int v = (rank * 5 + i * 3) % 7;
  // Products of many stay finite, also in the smallest type.
  if (op == MPI_PROD) v = rank < 4 ? 1 + v % 2 : 1;
  if constexpr (IsLocated<T>::value) {
    return {static_cast<decltype(T::value)>(v), static_cast<decltype(T::where)>(rank)};
  } else if constexpr (IsComplex<T>::value) {
    return {static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(v % 3 - 1)};
  } else {
    return static_cast<T>(op == MPI_LAND ? v | 1 : v);
  }
}

template <class T>
T applied(MPI_Op op, T x, T y) {
  if constexpr (IsLocated<T>::value) {
    bool more = op == MPI_MAXLOC ? x.value > y.value : x.value < y.value;
    bool tie = x.value == y.value && x.where <= y.where;
    return more || tie ? x : y;
  } else {
    if (op == MPI_SUM) return static_cast<T>(x + y);
    if (op == MPI_PROD) return static_cast<T>(x * y);
    if constexpr (!IsComplex<T>::value) {
      if (op == MPI_MAX) return x > y ? x : y;
      if (op == MPI_MIN) return x < y ? x : y;
      if (op == MPI_LAND) return static_cast<T>(x && y);
      if (op == MPI_LOR) return static_cast<T>(x || y);
      if (op == MPI_LXOR) return static_cast<T>(!x != !y);
    }
    if constexpr (kIsInteger<T>) {
      if (op == MPI_BAND) return static_cast<T>(x & y);
      if (op == MPI_BOR) return static_cast<T>(x | y);
      if (op == MPI_BXOR) return static_cast<T>(x ^ y);
    }
    CHECK(!"an operation that this type has");
    return x;
  }
}

template <class T>
bool same(T x, T y, MPI_Op op, unsigned set) {
  // What is true of one member alone is that member's own, not 1.
  if constexpr (!IsComplex<T>::value && !IsLocated<T>::value)
    if (set == kLogical && g_size == 1) return !x == !y;
  (void)op, (void)set;
  return x == y;
}

void expect_error(int code, int wanted) {
  int c;
  OK(MPI_Error_class(code, &c));
  CHECK(c == wanted);
}

template <class T>
void defined(MPI_Datatype type, const Operation& o, int count) {
  std::vector<T> in(static_cast<size_t>(count)), out(in.size()), all(in.size()), upto(in.size());
  std::vector<T> block(1), whole(static_cast<size_t>(g_size));
  if (count > 0) memset(static_cast<void*>(in.data()), 0, in.size() * sizeof(T));
  for (int i = 0; i < count; ++i) in[static_cast<size_t>(i)] = brought<T>(g_rank, i, o.op);
  for (int r = 0; r < g_size; ++r) whole[static_cast<size_t>(r)] = brought<T>(g_rank, r, o.op);
  OK(MPI_Allreduce(in.data(), all.data(), count, type, o.op, MPI_COMM_WORLD));
  OK(MPI_Reduce(in.data(), out.data(), count, type, o.op, g_size / 2, MPI_COMM_WORLD));
  OK(MPI_Scan(in.data(), upto.data(), count, type, o.op, MPI_COMM_WORLD));
  OK(MPI_Reduce_scatter_block(whole.data(), block.data(), 1, type, o.op, MPI_COMM_WORLD));
  for (int i = 0; i < count; ++i) {
    size_t k = static_cast<size_t>(i);
    T sum = brought<T>(0, i, o.op), prefix = sum;
    for (int r = 1; r < g_size; ++r) {
      sum = applied(o.op, sum, brought<T>(r, i, o.op));
      if (r <= g_rank) prefix = sum;
    }
    CHECK(same(all[k], sum, o.op, o.set));
    if (g_rank == g_size / 2) CHECK(same(out[k], sum, o.op, o.set));
    CHECK(g_rank == 0 || same(upto[k], prefix, o.op, o.set));
  }
  T sum = brought<T>(0, g_rank, o.op);
  for (int r = 1; r < g_size; ++r) sum = applied(o.op, sum, brought<T>(r, g_rank, o.op));
  CHECK(same(block[0], sum, o.op, o.set));
}

/// Every form says so, at every rank, and the communicator is as good as before.
void undefined(MPI_Datatype type, MPI_Op op) {
  std::vector<char> in(64 * 40), out(64 * 40 * static_cast<size_t>(g_size));
  MPI_Request request;
  for (int count : {1, 40}) {
    expect_error(MPI_Allreduce(in.data(), out.data(), count, type, op, MPI_COMM_WORLD), MPI_ERR_OP);
    expect_error(MPI_Reduce(in.data(), out.data(), count, type, op, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    expect_error(MPI_Scan(in.data(), out.data(), count, type, op, MPI_COMM_WORLD), MPI_ERR_OP);
    expect_error(MPI_Exscan(in.data(), out.data(), count, type, op, MPI_COMM_WORLD), MPI_ERR_OP);
  }
  int code = MPI_Iallreduce(in.data(), out.data(), 1, type, op, MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_error(code, MPI_ERR_OP);
  expect_error(MPI_Reduce_scatter_block(out.data(), in.data(), 1, type, op, MPI_COMM_WORLD),
               MPI_ERR_OP);
  if (op != MPI_REPLACE && op != MPI_NO_OP)  // the host's Reduce_local takes these
    expect_error(MPI_Reduce_local(in.data(), out.data(), 1, type, op), MPI_ERR_OP);
}

/// `defined_sets`: by the standard; `more_sets`: what MPICH and this library take beyond it.
template <class T>
void test(MPI_Datatype type, unsigned defined_sets, unsigned more_sets = 0) {
  if (type == MPI_DATATYPE_NULL) return;  // this host has no such Fortran type
  for (const Operation& o : kOps) {
    if (defined_sets & o.set) {
      for (int count : {0, 1, g_size > 200 ? 20 : g_size > 32 ? 140 : 700})
        defined<T>(type, o, count);
    } else if (!(more_sets & o.set)) {
      undefined(type, o.op);
    }
  }
}

constexpr unsigned kCInteger = kOrder | kSums | kLogical | kBitwise;
constexpr unsigned kFortranInteger = kOrder | kSums | kBitwise;
// Logical ones by MPICH, not by the standard
constexpr unsigned kFloating = kOrder | kSums | kLogical;

void c_types() {
  test<signed char>(MPI_SIGNED_CHAR, kCInteger);
  test<unsigned char>(MPI_UNSIGNED_CHAR, kCInteger);
  test<short>(MPI_SHORT, kCInteger);
  test<unsigned short>(MPI_UNSIGNED_SHORT, kCInteger);
  test<int>(MPI_INT, kCInteger);
  test<unsigned>(MPI_UNSIGNED, kCInteger);
  test<long>(MPI_LONG, kCInteger);
  test<unsigned long>(MPI_UNSIGNED_LONG, kCInteger);
  test<long long>(MPI_LONG_LONG, kCInteger);
  test<unsigned long long>(MPI_UNSIGNED_LONG_LONG, kCInteger);
  test<int8_t>(MPI_INT8_T, kCInteger);
  test<int16_t>(MPI_INT16_T, kCInteger);
  test<int32_t>(MPI_INT32_T, kCInteger);
  test<int64_t>(MPI_INT64_T, kCInteger);
  test<uint8_t>(MPI_UINT8_T, kCInteger);
  test<uint16_t>(MPI_UINT16_T, kCInteger);
  test<uint32_t>(MPI_UINT32_T, kCInteger);
  test<uint64_t>(MPI_UINT64_T, kCInteger);
  test<MPI_Aint>(MPI_AINT, kFortranInteger, kLogical);
  test<MPI_Offset>(MPI_OFFSET, kFortranInteger, kLogical);
  test<MPI_Count>(MPI_COUNT, kFortranInteger, kLogical);
  test<float>(MPI_FLOAT, kFloating);
  test<double>(MPI_DOUBLE, kFloating);
  test<long double>(MPI_LONG_DOUBLE, kFloating);
  test<unsigned char>(MPI_C_BOOL, kLogical);
  test<unsigned char>(MPI_CXX_BOOL, kLogical);
  test<std::complex<float>>(MPI_C_COMPLEX, kSums);
  test<std::complex<float>>(MPI_C_FLOAT_COMPLEX, kSums);
  test<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, kSums);
  test<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX, kSums);
  test<std::complex<float>>(MPI_CXX_FLOAT_COMPLEX, kSums);
  test<std::complex<double>>(MPI_CXX_DOUBLE_COMPLEX, kSums);
  test<std::complex<long double>>(MPI_CXX_LONG_DOUBLE_COMPLEX, kSums);
  test<unsigned char>(MPI_BYTE, kBitwise);
  test<char>(MPI_CHAR, 0, kCInteger);
  test<char>(MPI_PACKED, 0);
  test<wchar_t>(MPI_WCHAR, 0);
}

void fortran_types() {
  test<int>(MPI_INTEGER, kFortranInteger, kLogical);
  test<int8_t>(MPI_INTEGER1, kFortranInteger, kLogical);
  test<int16_t>(MPI_INTEGER2, kFortranInteger, kLogical);
  test<int32_t>(MPI_INTEGER4, kFortranInteger, kLogical);
  test<int64_t>(MPI_INTEGER8, kFortranInteger, kLogical);
  test<float>(MPI_REAL, kFloating);
  test<double>(MPI_DOUBLE_PRECISION, kFloating);
  test<float>(MPI_REAL4, kFloating);
  test<double>(MPI_REAL8, kFloating);
  test<Quad>(MPI_REAL16, kFloating);
  test<std::complex<float>>(MPI_COMPLEX, kSums);
  test<std::complex<double>>(MPI_DOUBLE_COMPLEX, kSums);
  test<std::complex<float>>(MPI_COMPLEX8, kSums);
  test<std::complex<double>>(MPI_COMPLEX16, kSums);
  test<int>(MPI_LOGICAL, kLogical);
  test<char>(MPI_CHARACTER, 0, kCInteger);
}

void pairs() {
  test<Located<float, int>>(MPI_FLOAT_INT, kLocating);
  test<Located<double, int>>(MPI_DOUBLE_INT, kLocating);
  test<Located<long, int>>(MPI_LONG_INT, kLocating);
  test<Located<short, int>>(MPI_SHORT_INT, kLocating);
  test<Located<int, int>>(MPI_2INT, kLocating);
  test<Located<long double, int>>(MPI_LONG_DOUBLE_INT, kLocating);
  test<Located<int, int>>(MPI_2INTEGER, kLocating);
  test<Located<float, float>>(MPI_2REAL, kLocating);
  test<Located<double, double>>(MPI_2DOUBLE_PRECISION, kLocating);
}

/// Predefined operations are not defined on derived types, however plain.
void derived() {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  for (const Operation& o : kOps) undefined(type, o.op);
  OK(MPI_Type_free(&type));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  c_types();
  fortran_types();
  pairs();
  derived();
  return finish();
}
