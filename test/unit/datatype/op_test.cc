#include "datatype/op.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "datatype/basic_type.h"
#include "datatype/constructors.h"
#include "datatype/op_kernels.h"
#include "host_types.h"

namespace fgmpi::datatype {
namespace {

constexpr MPI_Op kOps[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                           MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};

Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}

/// Small values, so that no type's sums and products leave its range or lose precision.
template <class T>
struct Fill {
  static void at(void* p, std::mt19937& random) {
    T value = static_cast<T>(random() % 7);
    std::memcpy(p, &value, sizeof(T));
  }
};
template <class V, class I>
struct Fill<PairOf<V, I>> {
  static void at(void* p, std::mt19937& random) {
    PairOf<V, I> pair;
    std::memset(&pair, 0, sizeof(pair));
    pair.value = static_cast<V>(random() % 4);
    pair.index = static_cast<I>(random() % 5);
    std::memcpy(p, &pair, sizeof(pair));
  }
};
template <class V>
struct Fill<std::complex<V>> {
  static void at(void* p, std::mt19937& random) {
    V parts[2] = {static_cast<V>(random() % 5), static_cast<V>(random() % 5)};
    std::memcpy(p, parts, sizeof(parts));
  }
};

template <>
struct Fill<HalfComplex> {
  static void at(void* p, std::mt19937& random) {
    Fill<Half>::at(p, random);
    Fill<Half>::at(static_cast<char*>(p) + sizeof(Half), random);
  }
};

template <class T>
bool same(const void* a, const void* b) {
  if constexpr (std::is_same_v<T, long double>) {
    long double x, y;  // ten bytes of sixteen carry the value
    std::memcpy(&x, a, sizeof(x));
    std::memcpy(&y, b, sizeof(y));
    return x == y;
  } else {
    return std::memcmp(a, b, sizeof(T)) == 0;
  }
}
template <class T>
bool same_element(const char* a, const char* b, T*) {
  return same<T>(a, b);
}
template <class T>
bool same_element(const char* a, const char* b, std::complex<T>*) {
  return same<T>(a, b) && same<T>(a + sizeof(T), b + sizeof(T));
}
template <class V, class I>
bool same_element(const char* a, const char* b, PairOf<V, I>*) {
  using Pair = PairOf<V, I>;
  constexpr size_t at = offsetof(Pair, index);
  return same<V>(a, b) && same<I>(a + at, b + at);
}

bool is_logical(MPI_Op op) { return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR; }
/// True for logical operations on floating types. The host's collectives accept them, but its loops
/// assert on C's types and treat Fortran's as integers. test/mpi/coll/predefined.cc tests this
/// library's results.
template <class T>
bool host_differs(MPI_Op op) {
  return is_logical(op) && std::is_floating_point_v<T>;
}
/// True for what the host has defined in version 4 only, and the standard does not (MPI-4.0 section
/// 6.9.2): MPI_CHARACTER, and logical operations on integers of Fortran. This library defines them
/// for programs that were written with MPICH 4.
bool is_of_host_4(MPI_Datatype type, MPI_Op op) {
  const MPI_Datatype integers[] = {MPI_INTEGER,  MPI_INTEGER1, MPI_INTEGER2,
                                   MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16};
  const bool of_fortran = std::count(std::begin(integers), std::end(integers), type) > 0;
  return type == MPI_CHARACTER || (is_logical(op) && of_fortran);
}

/// False for types whose operations the host lacks (version 4 ends the process on numbers of 2
/// bytes), or has with another precision: half_test.cc and the tests below have results for these.
bool host_computes(MPI_Datatype type) {
  const MPI_Datatype others[] = {MPI_REAL16,   MPI_COMPLEX32,  MPI_REAL2,
                                 MPI_COMPLEX4, MPIX_C_FLOAT16, MPIX_BFLOAT16};
  return std::count(std::begin(others), std::end(others), type) == 0;
}

template <class T>
void compare_with_host(MPI_Datatype handle, const char* name) {
  std::mt19937 random(7);
  Type type = type_of(handle);
  const bool host_5 = test::is_host_5();
  if (test::is_of_host_5(handle) && !host_5) return;
  constexpr int kCount = 37;
  // One more byte lets the elements begin at odd addresses.
  std::vector<char> in(kCount * sizeof(T) + 1), ours(in.size()), host(in.size());
  int defined = 0;
  for (MPI_Op op : kOps) {
    if (!check_op(op, 1, type).ok()) continue;
    ++defined;
    if (host_differs<T>(op)) continue;
    const bool refused = host_5 && is_of_host_4(handle, op);
    for (int i = 0; i < kCount; ++i) {
      Fill<T>::at(&in[i * sizeof(T)], random);
      Fill<T>::at(&host[i * sizeof(T)], random);
    }
    if (handle == MPI_CXX_BOOL ||
        handle == MPI_C_BOOL)  // a bool is 0 or 1; hosts differ for others
      for (std::vector<char>* values : {&in, &host})
        for (char& value : *values) value &= 1;
    ours = host;
    const int code = host::api().Reduce_local(in.data(), host.data(), kCount, handle, op);
    ASSERT_EQ(code != MPI_SUCCESS, refused) << name << " op " << std::hex << op;
    if (refused) continue;
    std::vector<char> shifted_in(in.size()), shifted(in.size());
    std::memcpy(shifted_in.data() + 1, in.data(), kCount * sizeof(T));
    std::memcpy(shifted.data() + 1, ours.data(), kCount * sizeof(T));
    ASSERT_TRUE(reduce_local(in.data(), ours.data(), kCount, type, op).ok());
    ASSERT_TRUE(reduce_local(shifted_in.data() + 1, shifted.data() + 1, kCount, type, op).ok());
    for (int i = 0; i < kCount; ++i) {
      const size_t at = i * sizeof(T);
      EXPECT_TRUE(same_element(&ours[at], &host[at], static_cast<T*>(nullptr)))
          << name << " op " << std::hex << op << " element " << std::dec << i;
      EXPECT_TRUE(same_element(&shifted[at + 1], &host[at], static_cast<T*>(nullptr)))
          << name << " op " << std::hex << op << " unaligned element " << std::dec << i;
    }
  }
  EXPECT_GT(defined, 0) << name;
}

using OperationsWithHost = host::WithHost;

TEST_F(OperationsWithHost, PredefinedOperationsAgreeWithTheHost) {
#define FGMPI_BASIC_TYPE(name, kind, ctype)                         \
  if (BasicKind::kind != BasicKind::kOpaque && host_computes(name)) \
    compare_with_host<ctype>(name, #name);
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  compare_with_host<PairOf<float, int>>(MPI_FLOAT_INT, "MPI_FLOAT_INT");
  compare_with_host<PairOf<double, int>>(MPI_DOUBLE_INT, "MPI_DOUBLE_INT");
  compare_with_host<PairOf<long, int>>(MPI_LONG_INT, "MPI_LONG_INT");
  compare_with_host<PairOf<short, int>>(MPI_SHORT_INT, "MPI_SHORT_INT");
  compare_with_host<PairOf<long double, int>>(MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT");
}

TEST(Operations, QuadruplePrecisionIsFortrans) {
  // The host computes MPI_REAL16 as long double, and MPI_COMPLEX32 not at all; gfortran's real(16)
  // is a number of 128 bits.
  processor::Quad a[2] = {1, 2}, b[2] = {static_cast<processor::Quad>(1) / 3, 5};
  const processor::Quad want = a[0] + b[0];
  ASSERT_TRUE(reduce_local(a, b, 2, type_of(MPI_REAL16), MPI_SUM).ok());
  EXPECT_TRUE(b[0] == want && b[1] == 7);
  processor::Quad x[2] = {1, 2}, y[2] = {3, 4};  // (1 + 2i)(3 + 4i) = -5 + 10i
  ASSERT_TRUE(reduce_local(x, y, 1, type_of(MPI_COMPLEX32), MPI_PROD).ok());
  EXPECT_TRUE(y[0] == -5 && y[1] == 10);
}

TEST(Operations, IntegersOf16BytesAreWhole) {
  const Integer16 large = static_cast<Integer16>(1) << 100;
  Integer16 a[2] = {large, -3}, b[2] = {5, large}, c[2] = {large, 7};
  ASSERT_TRUE(reduce_local(a, b, 2, type_of(MPI_INTEGER16), MPI_SUM).ok());
  EXPECT_TRUE(b[0] == large + 5 && b[1] == large - 3);
  ASSERT_TRUE(reduce_local(a, c, 2, type_of(MPI_INTEGER16), MPI_MIN).ok());
  EXPECT_TRUE(c[0] == large && c[1] == -3);
}

TEST(Operations, IntegersWrap) {
  int in = INT32_MAX, inout = 1;
  ASSERT_TRUE(reduce_local(&in, &inout, 1, type_of(MPI_INT), MPI_SUM).ok());
  EXPECT_EQ(inout, INT32_MIN);
  uint16_t a = 65535, b = 65535;
  ASSERT_TRUE(reduce_local(&a, &b, 1, type_of(MPI_UINT16_T), MPI_PROD).ok());
  EXPECT_EQ(b, 1);
}

TEST(Operations, UndefinedPairsAreErrorsThatNameBoth) {
  struct {
    MPI_Op op;
    MPI_Datatype type;
    const char* words;
  } cases[] = {{MPI_SUM, MPI_DOUBLE_INT,
                "MPI_SUM is not defined on MPI_DOUBLE_INT: allowed are MPI_MINLOC, MPI_MAXLOC"},
               {MPI_BAND, MPI_DOUBLE, "MPI_BAND is not defined on MPI_DOUBLE"},
               {MPI_MAX, MPI_C_BOOL, "MPI_MAX is not defined on MPI_C_BOOL"},
               {MPI_LAND, MPI_BYTE, "MPI_LAND is not defined on MPI_BYTE"},
               {MPI_MAX, MPI_C_DOUBLE_COMPLEX, "MPI_MAX is not defined on MPI_C_DOUBLE_COMPLEX"},
               {MPI_SUM, MPI_PACKED, "MPI_SUM is not defined on MPI_PACKED"},
               {MPI_REPLACE, MPI_INT, "MPI_REPLACE is not defined on MPI_INT"},
               {MPI_OP_NULL, MPI_INT, "MPI_OP_NULL"}};
  for (const auto& c : cases) {
    Status status = check_op(c.op, 1, type_of(c.type));
    EXPECT_EQ(status.error_class(), MPI_ERR_OP);
    EXPECT_NE(status.what().find(c.words), std::string::npos) << status.what();
  }
  EXPECT_TRUE(is_commutative(MPI_SUM));
}

TEST(Operations, TypesOfPrecisionHaveThoseOfTheirValues) {
  Type precise, copy;
  ASSERT_TRUE(make_f90_real(15, MPI_UNDEFINED, &precise).ok());
  EXPECT_EQ(values_of(precise), MPI_REAL8);
  double a[3] = {1, 2, 3}, b[3] = {4, 5, 6};
  ASSERT_TRUE(reduce_local(a, b, 3, precise, MPI_PROD).ok());
  EXPECT_TRUE(b[0] == 4 && b[1] == 10 && b[2] == 18);
  EXPECT_EQ(check_op(MPI_BAND, 1, precise).error_class(), MPI_ERR_OP);
  EXPECT_TRUE(check_op(MPI_BAND, 0, precise).ok());
  ASSERT_TRUE(make_f90_real(18, MPI_UNDEFINED, &precise).ok());  // real(10)
  EXPECT_EQ(values_of(precise), MPI_LONG_DOUBLE);
  ASSERT_TRUE(make_f90_complex(33, 4931, &precise).ok());
  EXPECT_EQ(values_of(precise), MPI_COMPLEX32);
  ASSERT_TRUE(make_f90_integer(9, &precise).ok());
  EXPECT_EQ(values_of(precise), MPI_INTEGER4);
  ASSERT_TRUE(make_duplicate(precise, &copy).ok());
  EXPECT_EQ(values_of(copy), MPI_DATATYPE_NULL);
  EXPECT_EQ(check_op(MPI_SUM, 1, copy).error_class(), MPI_ERR_OP);
}

TEST(Operations, PairsKeepTheirGaps) {
  constexpr size_t kSize = sizeof(PairOf<short, int>);
  alignas(4) unsigned char in[kSize], inout[kSize];
  std::memset(in, 0x11, kSize);
  std::memset(inout, 0x22, kSize);
  const short better = 9, worse = 3;
  std::memcpy(in, &better, sizeof better);
  std::memcpy(inout, &worse, sizeof worse);
  ASSERT_TRUE(reduce_local(in, inout, 1, type_of(MPI_SHORT_INT), MPI_MAXLOC).ok());
  const unsigned char want[kSize] = {9, 0, 0x22, 0x22, 0x11, 0x11, 0x11, 0x11};
  EXPECT_EQ(std::memcmp(inout, want, kSize), 0);
}

}  // namespace
}  // namespace fgmpi::datatype
