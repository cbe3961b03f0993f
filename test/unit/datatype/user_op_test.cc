// Operations of programs: their handles, the forms of their functions, and what functions are
// given.
#include "datatype/user_op.h"

#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "datatype/basic_type.h"
#include "datatype/constructors.h"
#include "datatype/op.h"
#include "datatype/type_handles.h"

namespace fgmpi::datatype {
namespace {

Type type_of(MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  return type;
}
template <class F>
AnyFunction any(F* function) {
  return reinterpret_cast<AnyFunction>(function);
}
MPI_Op create(AnyFunction function, bool large, bool commutative) {
  MPI_Op op = MPI_OP_NULL;
  const Status status = create_op(function, large, commutative, &op);
  EXPECT_TRUE(status.ok()) << status.what();
  EXPECT_TRUE(is_user_op(op));
  return op;
}

/// What the functions were called with.
struct OpCall {
  int64_t count;
  MPI_Datatype type;
  int64_t size;
};
std::vector<OpCall> g_calls;
void record(int64_t count, MPI_Datatype handle) {
  Type type;
  EXPECT_TRUE(Type::of(handle, &type).ok());
  g_calls.push_back({count, handle, type.size()});
}
void small_recorder(void*, void*, int* count, MPI_Datatype* type) { record(*count, *type); }
void large_recorder(void*, void*, MPI_Count* count, MPI_Datatype* type) { record(*count, *type); }

/// 2x2 matrices of doubles: a product that does not commute.
void matrix_product(void* in, void* inout, int* length, MPI_Datatype* type) {
  record(*length, *type);
  auto* a = static_cast<double*>(in);
  auto* b = static_cast<double*>(inout);
  for (int m = 0; m < *length; ++m, a += 4, b += 4) {
    const double c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    std::memcpy(b, c, sizeof(c));
  }
}
void large_sum(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  record(*count, *type);
  for (MPI_Count i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

class UserOps : public testing::Test {
 protected:
  void SetUp() override { g_calls.clear(); }
  void TearDown() override {
    EXPECT_EQ(count_handles(), 0u);
    EXPECT_EQ(count_derived_types(), 0u);
  }
};

TEST_F(UserOps, AreCalledOnTheirElements) {
  MPI_Op op = create(any(matrix_product), false, false);
  Type matrix;
  ASSERT_TRUE(make_contiguous(false, 4, type_of(MPI_DOUBLE), &matrix).ok());
  EXPECT_FALSE(is_commutative(op));
  EXPECT_TRUE(check_op(op, 1, matrix).ok());
  double a[8] = {1, 2, 3, 4, 1, 0, 0, 1}, b[8] = {0, 1, 1, 0, 5, 6, 7, 8};
  ASSERT_TRUE(reduce_local(a, b, 2, matrix, op).ok());
  const double want[8] = {2, 1, 4, 3, 5, 6, 7, 8};
  EXPECT_EQ(std::memcmp(b, want, sizeof(want)), 0);
  EXPECT_EQ(check_op(MPI_SUM, 1, matrix).error_class(), MPI_ERR_OP);
  ASSERT_TRUE(reduce_local(a, b, 0, matrix, op).ok());
  EXPECT_EQ(g_calls.size(), 1u);  // no call for nothing
  ASSERT_TRUE(free_op(&op).ok());
  EXPECT_EQ(op, MPI_OP_NULL);
}

TEST_F(UserOps, OfLargeCountsAreCalledOnce) {
  MPI_Op op = create(any(large_sum), true, true);
  EXPECT_TRUE(is_commutative(op));
  std::vector<int> a(1000), b(1000, 5);
  std::iota(a.begin(), a.end(), 0);
  ASSERT_TRUE(reduce_local(a.data(), b.data(), 1000, type_of(MPI_INT), op).ok());
  EXPECT_EQ(b[0], 5);
  EXPECT_EQ(b[999], 1004);
  ASSERT_EQ(g_calls.size(), 1u);
  EXPECT_EQ(g_calls[0].type, MPI_INT);
  ASSERT_TRUE(free_op(&op).ok());
}

/// What a function with a pointer of the program's gets.
struct OpState {
  int64_t elements = 0;
  int ends = 0;
};
void count_elements(void*, void*, MPI_Count count, MPI_Datatype, void* state) {
  static_cast<OpState*>(state)->elements += count;
}
void count_end(void* state) { ++static_cast<OpState*>(state)->ends; }

TEST_F(UserOps, WithAStateEndOnceWhenNobodyUsesThem) {
  OpState state;
  MPI_Op op, copy;
  ASSERT_TRUE(create_op(count_elements, count_end, &state, false, &op).ok());
  EXPECT_FALSE(is_commutative(op));
  int64_t a[3] = {}, b[3] = {};
  ASSERT_TRUE(reduce_local(a, b, 3, type_of(MPI_INT64_T), op).ok());
  EXPECT_EQ(state.elements, 3);
  retain_user_op(copy = op);
  ASSERT_TRUE(free_op(&op).ok());
  EXPECT_EQ(state.ends, 0);
  release_user_op(copy);
  EXPECT_EQ(state.ends, 1);
  ASSERT_TRUE(create_op(count_elements, nullptr, &state, true, &op).ok());
  EXPECT_TRUE(is_commutative(op));
  ASSERT_TRUE(free_op(&op).ok());
  OpFunctionWithState* none = nullptr;
  EXPECT_EQ(create_op(none, count_end, &state, true, &op).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(state.ends, 1);
}

TEST_F(UserOps, CountsBeyondAnIntAreCutForFunctionsOfInts) {
  MPI_Op small = create(any(small_recorder), false, true),
         large = create(any(large_recorder), true, true);
  Type nothing;  // it has neither size nor extent, so that any count fits
  ASSERT_TRUE(make_contiguous(false, 0, type_of(MPI_INT), &nothing).ok());
  constexpr int64_t kCount = (int64_t{1} << 31) + 3;
  char memory[1];
  ASSERT_TRUE(reduce_local(memory, memory, kCount, nothing, small).ok());
  int64_t sum = 0;
  for (const OpCall& call : g_calls) {
    EXPECT_GT(call.count, 0);
    sum += call.count;
  }
  EXPECT_EQ(sum, kCount);
  EXPECT_EQ(g_calls.size(), 3u);
  g_calls.clear();
  ASSERT_TRUE(reduce_local(memory, memory, kCount, nothing, large).ok());
  ASSERT_EQ(g_calls.size(), 1u);
  EXPECT_EQ(g_calls[0].count, kCount);
  ASSERT_TRUE(free_op(&small).ok());
  ASSERT_TRUE(free_op(&large).ok());
}

/// The C++ binding's function has a signature of its own.
int g_cxx_calls = 0;
void cxx_function(const void*, void*, int, const int&) {}
void cxx_caller(const void* in, void* inout, int count, MPI_Datatype type, AnyFunction function) {
  ++g_cxx_calls;
  EXPECT_EQ(function, any(cxx_function));
  EXPECT_EQ(type, MPI_INT);
  for (int i = 0; i < count; ++i) static_cast<int*>(inout)[i] *= static_cast<const int*>(in)[i];
}

TEST_F(UserOps, OfTheCxxBindingAreCalledByItsFunction) {
  MPI_Op op = create(any(cxx_function), false, true),
         other = create(any(small_recorder), false, true);
  set_cxx_op(op, any(cxx_caller));
  int a[3] = {1, 2, 3}, b[3] = {4, 5, 6};
  ASSERT_TRUE(reduce_local(a, b, 3, type_of(MPI_INT), op).ok());
  EXPECT_EQ(g_cxx_calls, 1);
  EXPECT_EQ(b[2], 18);
  ASSERT_TRUE(reduce_local(a, b, 3, type_of(MPI_INT), other).ok());
  EXPECT_EQ(g_cxx_calls, 1);
  set_cxx_op(MPI_SUM, any(cxx_caller));  // only the caller is noted
  ASSERT_TRUE(free_op(&op).ok());
  ASSERT_TRUE(free_op(&other).ok());
  op = create(any(small_recorder), false, true);  // in the place of a freed one of C++
  g_calls.clear();
  ASSERT_TRUE(reduce_local(a, b, 3, type_of(MPI_INT), op).ok());
  EXPECT_EQ(g_calls.size(), 1u);
  EXPECT_EQ(g_cxx_calls, 1);
  ASSERT_TRUE(free_op(&op).ok());
}

TEST_F(UserOps, FreedOnesStayForReductionsUnderWay) {
  MPI_Op op = create(any(large_sum), true, false);
  const MPI_Op kept = op;
  retain(op);
  retain(op);
  ASSERT_TRUE(free_op(&op).ok());
  EXPECT_EQ(op, MPI_OP_NULL);
  MPI_Op again = kept;
  EXPECT_EQ(free_op(&again).error_class(), MPI_ERR_OP);  // freed already
  EXPECT_EQ(again, kept);
  MPI_Op next = create(any(small_recorder), false, true);
  EXPECT_NE(next, kept);  // the handle is still in use
  EXPECT_FALSE(is_commutative(kept));
  int a[1] = {2}, b[1] = {3};
  ASSERT_TRUE(reduce_local(a, b, 1, type_of(MPI_INT), kept).ok());
  EXPECT_EQ(b[0], 5);
  release(kept);
  EXPECT_TRUE(is_user_op(kept));
  release(kept);
  EXPECT_FALSE(is_user_op(kept));
  EXPECT_EQ(check_op(kept, 1, type_of(MPI_INT)).error_class(), MPI_ERR_OP);
  ASSERT_TRUE(free_op(&next).ok());
  retain(MPI_SUM);
  release(MPI_SUM);
  // One that nobody frees stays when the reduction is over.
  op = create(any(large_sum), true, true);
  retain(op);
  release(op);
  EXPECT_TRUE(is_user_op(op));
  ASSERT_TRUE(free_op(&op).ok());
}

TEST_F(UserOps, UnknownOnesAreErrors) {
  MPI_Op op = create(any(large_sum), true, true), freed = op;
  ASSERT_TRUE(free_op(&op).ok());
  for (MPI_Op bad : {MPI_OP_NULL, freed, MPI_Op{MPI_SUM}, MPI_Op{MPI_INT}, freed + 1000, 0, -1}) {
    MPI_Op given = bad;
    EXPECT_EQ(free_op(&given).error_class(), MPI_ERR_OP) << std::hex << bad;
    EXPECT_EQ(given, bad);
    EXPECT_FALSE(is_user_op(bad));
    int commutative = 7;
    if (bad == MPI_SUM) continue;
    EXPECT_EQ(find_commutative(bad, &commutative).error_class(), MPI_ERR_OP) << std::hex << bad;
    EXPECT_EQ(check_op(bad, 1, type_of(MPI_INT)).error_class(), MPI_ERR_OP) << std::hex << bad;
  }
  int commutative = 0;
  EXPECT_TRUE(find_commutative(MPI_MAXLOC, &commutative).ok());
  EXPECT_EQ(commutative, 1);
  EXPECT_EQ(create_op(nullptr, false, true, &op).error_class(), MPI_ERR_ARG);
}

TEST_F(UserOps, ManyHaveHandlesOfTheirOwn) {
  std::vector<MPI_Op> ops;
  for (int i = 0; i < 5000; ++i) ops.push_back(create(any(large_sum), true, i % 3 == 0));
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(is_commutative(ops[static_cast<size_t>(i)]), i % 3 == 0);
    int commutative;
    ASSERT_TRUE(find_commutative(ops[static_cast<size_t>(i)], &commutative).ok());
    EXPECT_EQ(commutative, i % 3 == 0);
  }
  const MPI_Op last = ops.back();
  for (MPI_Op& op : ops) ASSERT_TRUE(free_op(&op).ok());
  MPI_Op op = create(any(large_sum), true, true);
  EXPECT_LE(op, last);  // a handle that was freed
  ASSERT_TRUE(free_op(&op).ok());
}

MPI_Datatype handle_of(const Type& type) {
  MPI_Datatype handle;
  EXPECT_TRUE(make_handle(type, true, &handle).ok());
  return handle;
}

TEST_F(UserOps, GetAHandleOfTheTypeAlsoWhenTheProgramHasFreedIt) {
  MPI_Op op = create(any(small_recorder), false, true);
  Type made, other, used;
  ASSERT_TRUE(make_contiguous(false, 3, type_of(MPI_INT), &made).ok());
  ASSERT_TRUE(make_contiguous(false, 5, type_of(MPI_INT), &other).ok());
  const MPI_Datatype handle = handle_of(made);
  ASSERT_TRUE(Type::of(handle, &used).ok());
  made = Type();
  int memory[3] = {};
  ASSERT_TRUE(reduce_local(memory, memory, 1, used, op).ok());
  free_handle(handle);
  ASSERT_TRUE(reduce_local(memory, memory, 1, used, op).ok());
  EXPECT_EQ(count_handles(), 0u);
  // The next type gets the handle.
  const MPI_Datatype again = handle_of(other);
  ASSERT_EQ(again, handle);
  ASSERT_TRUE(reduce_local(memory, memory, 1, used, op).ok());
  EXPECT_EQ(count_handles(), 1u);
  ASSERT_EQ(g_calls.size(), 3u);
  EXPECT_EQ(g_calls[0].type, handle);
  EXPECT_NE(g_calls[2].type, again);
  for (const OpCall& call : g_calls) EXPECT_EQ(call.size, 12);
  free_handle(again);
  // Pairs keep their handles.
  PairOf<double, int> pair{};
  ASSERT_TRUE(reduce_local(&pair, &pair, 1, type_of(MPI_DOUBLE_INT), op).ok());
  EXPECT_EQ(g_calls.back().type, MPI_DOUBLE_INT);
  ASSERT_TRUE(free_op(&op).ok());
}

/// A function may make and free operations and types, itself included.
MPI_Op g_self = MPI_OP_NULL;
void busy_function(void* in, void* inout, int* count, MPI_Datatype* type) {
  std::vector<MPI_Op> ops;
  for (int i = 0; i < 3000; ++i) ops.push_back(create(any(large_sum), true, true));
  for (MPI_Op& op : ops) EXPECT_TRUE(free_op(&op).ok());
  EXPECT_TRUE(free_op(&g_self).ok());
  EXPECT_EQ(*type, MPI_INT);
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST_F(UserOps, MayMakeAndFreeOperations) {
  g_self = create(any(busy_function), false, true);
  int a[2] = {1, 2}, b[2] = {3, 4};
  ASSERT_TRUE(reduce_local(a, b, 2, type_of(MPI_INT), g_self).ok());
  EXPECT_EQ(b[1], 6);
  EXPECT_EQ(g_self, MPI_OP_NULL);
}

}  // namespace
}  // namespace fgmpi::datatype
