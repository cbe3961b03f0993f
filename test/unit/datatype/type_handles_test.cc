// Handles of datatypes, and the objects that they share.
#include "datatype/type_handles.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "datatype/constructors.h"
#include "datatype/copy.h"
#include "host/handle_bits.h"

namespace fgmpi::datatype {
namespace {

Type type_of(MPI_Datatype handle) {
  Type type;
  const Status status = Type::of(handle, &type);
  EXPECT_TRUE(status.ok()) << status.what();
  return type;
}
MPI_Datatype handle_of(const Type& type, bool committed = true) {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  EXPECT_TRUE(make_handle(type, committed, &handle).ok());
  return handle;
}
Type vector_of(int count, MPI_Datatype old = MPI_INT) {
  Type type;
  EXPECT_TRUE(make_vector(false, count, 1, 4, type_of(old), &type).ok());
  return type;
}

class TypeHandles : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(count_handles(), 0u);
    EXPECT_EQ(count_derived_types(), 0u);
    EXPECT_EQ(derived_type_memory(), 0u);
  }
};

TEST_F(TypeHandles, TenThousandOfOneTypeShareAnObject) {
  std::vector<MPI_Datatype> handles;
  for (int i = 0; i < 10000; ++i) handles.push_back(handle_of(vector_of(7)));
  EXPECT_EQ(count_handles(), 10000u);
  EXPECT_EQ(count_derived_types(), 1u);
  EXPECT_LT(derived_type_memory(), 1024u);
  EXPECT_EQ(std::set<MPI_Datatype>(handles.begin(), handles.end()).size(), 10000u);
  const DerivedType* object = find_derived(handles[0]).type;
  for (MPI_Datatype handle : handles) {
    EXPECT_EQ(host::handle_kind(handle), host::HandleKind::kDirect);
    EXPECT_EQ(find_derived(handle).type, object);
  }
  EXPECT_EQ(object->references, 10000u);
  for (MPI_Datatype handle : handles) free_handle(handle);
}

TEST_F(TypeHandles, AreUsedAgain) {
  std::vector<MPI_Datatype> handles;
  for (int i = 0; i < 2000; ++i) handles.push_back(handle_of(vector_of(2 + i % 5)));
  const MPI_Datatype most = *std::max_element(handles.begin(), handles.end());
  RandomSequence random(5);
  for (int round = 0; round < 20000; ++round) {
    MPI_Datatype& handle = handles[random.next() % handles.size()];
    const auto count = static_cast<int>(2 + random.next() % 5);
    free_handle(handle);
    EXPECT_EQ(find_derived(handle).type, nullptr);
    handle = handle_of(vector_of(count), random.next() % 2);
    EXPECT_LE(handle, most);
    EXPECT_EQ(find_derived(handle).type->size(), 4 * count);
  }
  EXPECT_EQ(count_handles(), 2000u);
  EXPECT_LE(count_derived_types(), 5u);
  for (MPI_Datatype handle : handles) free_handle(handle);
}

TEST_F(TypeHandles, EachIsCommittedByItself) {
  const MPI_Datatype a = handle_of(vector_of(3), false), b = handle_of(vector_of(3), false);
  commit_handle(a);
  EXPECT_TRUE(find_derived(a).committed);
  EXPECT_FALSE(find_derived(b).committed);
  commit_handle(a);
  EXPECT_EQ(find_derived(a).type, find_derived(b).type);
  free_handle(a);
  const MPI_Datatype c = handle_of(vector_of(3), false);  // in the place of a committed one
  EXPECT_EQ(c, a);
  EXPECT_FALSE(find_derived(c).committed);
  free_handle(b);
  free_handle(c);
}

TEST_F(TypeHandles, FreedAndUnknownOnesAreRefused) {
  const MPI_Datatype used = handle_of(vector_of(3)), freed = handle_of(vector_of(4));
  free_handle(freed);
  const auto direct = host::handle_base(host::HandleKind::kDirect, host::HandleObject::kDatatype),
             indirect =
                 host::handle_base(host::HandleKind::kIndirect, host::HandleObject::kDatatype),
             comm = host::handle_base(host::HandleKind::kDirect, host::HandleObject::kComm);
  const uint32_t index = host::handle_index(used);
  for (uint32_t bad : {static_cast<uint32_t>(freed), direct | (index + 100000),
                       direct | host::kHandleIndexMask, indirect, indirect | index,
                       indirect | host::kHandleIndexMask, comm | index, 0u, index, ~0u}) {
    const auto handle = static_cast<MPI_Datatype>(bad);
    EXPECT_EQ(find_derived(handle).type, nullptr) << std::hex << bad;
    Type type;
    const Status status = Type::of(handle, &type);
    EXPECT_EQ(status.error_class(), MPI_ERR_TYPE) << std::hex << bad;
    EXPECT_NE(status.what().find("allowed is a datatype"), std::string::npos) << status.what();
    EXPECT_EQ(type.handle(), MPI_BYTE);
  }
  free_handle(used);
}

TEST_F(TypeHandles, PairsHaveTheFirstNumbers) {
  for (MPI_Datatype pair :
       {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT}) {
    const FoundType found = find_derived(pair);
    ASSERT_NE(found.type, nullptr);
    EXPECT_TRUE(found.committed);
    EXPECT_TRUE(found.type->permanent());
    commit_handle(pair);  // does nothing
    EXPECT_TRUE(type_of(pair) == type_of(pair));
    std::string reason;
    EXPECT_TRUE(found.type->validate(&reason)) << reason;
  }
  const MPI_Datatype handle = handle_of(vector_of(3));
  EXPECT_GT(handle, MPI_LONG_DOUBLE_INT);
  free_handle(handle);
}

TEST_F(TypeHandles, ATypeOutlivesItsHandle) {
  const MPI_Datatype handle = handle_of(vector_of(3));
  Type type = type_of(handle);
  free_handle(handle);
  // The next type gets the handle, but not the old description.
  Type five;
  ASSERT_TRUE(make_contiguous(false, 5, type_of(MPI_DOUBLE), &five).ok());
  const MPI_Datatype next = handle_of(five);
  EXPECT_EQ(next, handle);
  EXPECT_EQ(type_of(next).size(), 40);
  int matrix[12], packed[3];
  std::iota(matrix, matrix + 12, 0);
  Type copied = type;
  type = Type();
  pack(matrix, 1, copied, packed);
  EXPECT_EQ(packed[1], 4);
  EXPECT_EQ(packed[2], 8);
  free_handle(next);
}

TEST_F(TypeHandles, InnerTypesLiveInOuterOnes) {
  Type outer;
  {
    const Type inner = vector_of(3);
    ASSERT_TRUE(make_contiguous(false, 2, inner, &outer).ok());
    const Type inner2 = vector_of(3);
    EXPECT_EQ(inner.derived(), inner2.derived());
  }
  EXPECT_EQ(count_derived_types(), 2u);
  const Type inner = vector_of(3);
  EXPECT_TRUE(outer.derived()->contents.types[0] == inner);
  Type again;
  ASSERT_TRUE(make_contiguous(false, 2, inner, &again).ok());
  EXPECT_TRUE(again == outer);
}

TEST_F(TypeHandles, LongChainsOfTypesAreFreedWithoutAStackOfTheirLength) {
  Type type = vector_of(3);
  for (int i = 0; i < 200000; ++i) {
    Type outer;
    ASSERT_TRUE(make_duplicate(type, &outer).ok());
    type = std::move(outer);
  }
  EXPECT_EQ(count_derived_types(), 200001u);
  EXPECT_EQ(type.size(), 12);
  type = Type();
  EXPECT_EQ(count_derived_types(), 0u);
}

TEST_F(TypeHandles, TypesOfOtherArgumentsAreOthers) {
  const Type i = type_of(MPI_INT);
  std::vector<Type> types(14);
  auto next = [&, k = size_t{0}]() mutable { return &types[k++]; };
  const int lengths[] = {1, 1}, displs[] = {0, 2};
  const int64_t wide_displs[] = {0, 8};
  ASSERT_TRUE(make_contiguous(false, 2, i, next()).ok());
  ASSERT_TRUE(make_contiguous(true, 2, i, next()).ok());
  ASSERT_TRUE(make_contiguous(false, 2, type_of(MPI_INT32_T), next()).ok());
  ASSERT_TRUE(make_vector(false, 2, 1, 2, i, next()).ok());
  ASSERT_TRUE(make_hvector(false, 2, 1, 8, i, next()).ok());
  ASSERT_TRUE(make_hvector(true, 2, 1, 8, i, next()).ok());
  ASSERT_TRUE(make_indexed(false, 2, lengths, displs, i, next()).ok());
  ASSERT_TRUE(make_indexed_block(false, 2, 1, displs, i, next()).ok());
  ASSERT_TRUE(make_hindexed(false, 2, lengths, wide_displs, i, next()).ok());
  ASSERT_TRUE(make_hindexed_block(false, 2, 1, wide_displs, i, next()).ok());
  ASSERT_TRUE(make_struct(false, 2, lengths, wide_displs, {i, i}, next()).ok());
  ASSERT_TRUE(make_resized(false, 0, 8, i, next()).ok());
  ASSERT_TRUE(make_duplicate(i, next()).ok());
  ASSERT_TRUE(make_duplicate(types[12], next()).ok());
  EXPECT_EQ(count_derived_types(), types.size());
  for (size_t a = 0; a < types.size(); ++a)
    for (size_t b = 0; b < types.size(); ++b) EXPECT_EQ(types[a] == types[b], a == b);
}

TEST_F(TypeHandles, ManyDifferentTypesAreFoundAgain) {
  std::vector<Type> types;
  for (int i = 0; i < 20000; ++i)
    types.push_back(vector_of(2 + i % 5000, i / 5000 % 2 ? MPI_INT : MPI_FLOAT));
  EXPECT_EQ(count_derived_types(), 10000u);
  for (size_t i = 0; i < 10000; ++i) EXPECT_TRUE(types[i] == types[i + 10000]);
}

}  // namespace
}  // namespace fgmpi::datatype
