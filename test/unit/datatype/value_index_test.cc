// Pairs of a value and an index without a name: which there are, their layouts, their loops.
#include "datatype/value_index.h"

#include <cstddef>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "datatype/basic_type.h"
#include "datatype/copy.h"
#include "datatype/elements.h"
#include "datatype/op.h"
#include "datatype/type_handles.h"

namespace fgmpi::datatype {
namespace {

MPI_Datatype pair_of(MPI_Datatype value, MPI_Datatype index) {
  MPI_Datatype pair = MPI_INT;
  EXPECT_TRUE(find_value_index(value, index, &pair).ok());
  return pair;
}
Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}

template <class V, class I>
void check_pair(MPI_Datatype value, MPI_Datatype index) {
  using Pair = PairOf<V, I>;
  constexpr size_t kIndexAt = offsetof(Pair, index);
  const MPI_Datatype handle = pair_of(value, index);
  ASSERT_NE(handle, MPI_DATATYPE_NULL);
  EXPECT_TRUE(is_value_index(handle));
  EXPECT_EQ(value_of_pair(handle), value);
  EXPECT_EQ(index_of_pair(handle), index);
  const FoundType found = find_derived(handle);
  ASSERT_NE(found.type, nullptr);
  EXPECT_TRUE(found.committed);
  const Type type = type_of(handle);
  EXPECT_EQ(type.derived(), found.type);
  EXPECT_EQ(type.derived(), type_of(handle).derived());
  EXPECT_EQ(type.predefined(), handle);
  EXPECT_TRUE(type.derived()->permanent());
  EXPECT_EQ(type.size(), static_cast<int64_t>(sizeof(V) + sizeof(I)));
  EXPECT_EQ(type.extent(), static_cast<int64_t>(sizeof(Pair)));
  EXPECT_EQ(type.true_extent(), static_cast<int64_t>(kIndexAt + sizeof(I)));
  EXPECT_EQ(elements_of(type), 2);
  std::string reason;
  EXPECT_TRUE(type.derived()->validate(&reason)) << reason;

  // The greatest value with its least index, and the least one, as a simple loop finds them. The
  // bytes of gaps stay as they are.
  constexpr int kCount = 50;
  std::mt19937 random(3);
  for (MPI_Op op : {MPI_MAXLOC, MPI_MINLOC}) {
    std::vector<Pair> in(kCount), inout(kCount);
    std::memset(static_cast<void*>(in.data()), 0x11, sizeof(Pair) * kCount);
    std::memset(static_cast<void*>(inout.data()), 0x22, sizeof(Pair) * kCount);
    for (std::vector<Pair>* all : {&in, &inout})
      for (Pair& p : *all) {
        p.value = static_cast<V>(random() % 3) - static_cast<V>(1);
        p.index = static_cast<I>(static_cast<I>(random() % 5) - static_cast<I>(2));
      }
    std::vector<Pair> before = inout;
    std::memcpy(static_cast<void*>(before.data()), inout.data(), sizeof(Pair) * kCount);
    ASSERT_TRUE(reduce_local(in.data(), inout.data(), kCount, type, op).ok());
    for (int i = 0; i < kCount; ++i) {
      const bool better =
          op == MPI_MAXLOC ? in[i].value > before[i].value : in[i].value < before[i].value;
      const bool equal = in[i].value == before[i].value;
      const V wanted = better ? in[i].value : before[i].value;
      const I least = in[i].index < before[i].index ? in[i].index : before[i].index;
      EXPECT_TRUE(inout[i].value == wanted);
      EXPECT_TRUE(inout[i].index == (equal ? least : better ? in[i].index : before[i].index));
    }
  }
  EXPECT_EQ(check_op(MPI_SUM, 1, type).error_class(), MPI_ERR_OP);
  EXPECT_TRUE(check_op(MPI_SUM, 0, type).ok());
}

TEST(ValueIndex, PairsOfAllKinds) {
  check_pair<double, uint64_t>(MPI_DOUBLE, MPI_UINT64_T);
  check_pair<short, int64_t>(MPI_SHORT, MPI_INT64_T);
  check_pair<int64_t, int16_t>(MPI_INT64_T, MPI_INT16_T);
  check_pair<long double, uint8_t>(MPI_LONG_DOUBLE, MPI_UINT8_T);
  check_pair<uint8_t, uint8_t>(MPI_UNSIGNED_CHAR, MPI_UNSIGNED_CHAR);
  check_pair<int8_t, int>(MPI_SIGNED_CHAR, MPI_INT);
  check_pair<int32_t, int>(MPI_INT32_T, MPI_INT);
  check_pair<float, long>(MPI_FLOAT, MPI_LONG);
  check_pair<Integer16, int>(MPI_INTEGER16, MPI_INT);
  check_pair<int, Integer16>(MPI_INT, MPI_INTEGER16);
  check_pair<processor::Quad, int>(MPI_REAL16, MPI_INTEGER);
  check_pair<MPI_Aint, MPI_Count>(MPI_AINT, MPI_COUNT);
}

/// The handles of all predefined types.
std::vector<MPI_Datatype> basic_types() {
  std::vector<MPI_Datatype> all;
#define FGMPI_BASIC_TYPE(name, kind, ctype) all.push_back(name);
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  return all;
}

TEST(ValueIndex, EachPairHasAHandleOfItsOwn) {
  std::set<MPI_Datatype> seen;
  int unnamed = 0;
  for (MPI_Datatype value : basic_types())
    for (MPI_Datatype index : basic_types()) {
      const MPI_Datatype pair = pair_of(value, index);
      const BasicKind kind = basic_type(value)->kind, of_index = basic_type(index)->kind;
      if (pair == MPI_DATATYPE_NULL) continue;
      EXPECT_TRUE(seen.insert(pair).second);
      EXPECT_TRUE(kind == BasicKind::kInteger || kind == BasicKind::kFloat);
      if (!is_value_index(pair)) continue;
      ++unnamed;
      EXPECT_EQ(of_index, BasicKind::kInteger);
      const Type type = type_of(pair);
      EXPECT_EQ(type.size(), type_of(value).size() + type_of(index).size());
      EXPECT_EQ(type.derived()->contents.types[0].handle(), value);
      EXPECT_EQ(type.derived()->contents.types[1].handle(), index);
    }
  EXPECT_GT(unnamed, 500);
  EXPECT_EQ(seen.size(), static_cast<size_t>(unnamed) + 9);
}

TEST(ValueIndex, OtherHandlesAreNone) {
  EXPECT_EQ(pair_of(MPI_CHAR, MPI_INT), MPI_DATATYPE_NULL);
  EXPECT_EQ(pair_of(MPI_INT, MPI_CHARACTER), MPI_DATATYPE_NULL);
  EXPECT_EQ(pair_of(MPI_INT, MPI_C_BOOL), MPI_DATATYPE_NULL);
  EXPECT_EQ(pair_of(MPI_FLOAT_INT, MPI_INT), MPI_DATATYPE_NULL);
  MPI_Datatype pair;
  EXPECT_EQ(find_value_index(MPI_INT, MPI_DATATYPE_NULL, &pair).error_class(), MPI_ERR_TYPE);
  int found = 0;
  for (uint32_t i = 0; i < kValueIndexHandles; ++i)
    found += find_derived(static_cast<MPI_Datatype>(kFirstValueIndex + i)).type != nullptr;
  int wanted = 0;
  for (MPI_Datatype value : basic_types())
    for (MPI_Datatype index : basic_types()) wanted += is_value_index(pair_of(value, index));
  // Those that have a name have a second handle in the range, which no call returns.
  EXPECT_LE(wanted, found);
  EXPECT_LE(found, wanted + 9);
}

}  // namespace
}  // namespace fgmpi::datatype
