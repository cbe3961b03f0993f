// Compares folding with operations on one element after the other, and folds from several threads
// at once: the sums must be exact.
#include "rma/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "datatype/op.h"

namespace fgmpi::rma {
namespace {

constexpr int64_t kBytes = 4096;

struct Case {
  MPI_Datatype type;
  std::vector<MPI_Op> ops;
};
const std::vector<Case>& cases() {
  static const std::vector<MPI_Op> floats = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_REPLACE},
                                   integers = {MPI_SUM,  MPI_PROD, MPI_MIN,    MPI_MAX,
                                               MPI_LAND, MPI_LOR,  MPI_LXOR,   MPI_BAND,
                                               MPI_BOR,  MPI_BXOR, MPI_REPLACE};
  static const std::vector<Case> all = {{MPI_SIGNED_CHAR, integers},
                                        {MPI_SHORT, integers},
                                        {MPI_INT, integers},
                                        {MPI_LONG, integers},
                                        {MPI_FLOAT, floats},
                                        {MPI_DOUBLE, floats},
                                        {MPI_BYTE, {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE}},
                                        {MPI_C_DOUBLE_COMPLEX, {MPI_SUM, MPI_PROD, MPI_REPLACE}}};
  return all;
}

struct Area {
  Area() : memory(static_cast<char*>(aligned_alloc(4096, Control::bytes(1, 1)))) {
    std::memset(memory, 0, Control::bytes(1, 1));
  }
  ~Area() { free(memory); }
  char* memory;
};

/// Small numbers, so that floating-point results are exact.
void fill(MPI_Datatype type, char* at, int64_t bytes, RandomSequence* random) {
  if (type == MPI_FLOAT) {
    for (int64_t i = 0; i < bytes / 4; ++i)
      reinterpret_cast<float*>(at)[i] = static_cast<float>(random->next() % 16);
  } else if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX) {
    for (int64_t i = 0; i < bytes / 8; ++i)
      reinterpret_cast<double*>(at)[i] = static_cast<double>(random->next() % 16);
  } else {
    for (int64_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(random->next());
  }
}

TEST(Fold, IsOneElementAfterTheOther) {
  Area area;
  Control control(area.memory, 1);
  RandomSequence random(5);
  alignas(64) char target[kBytes], model[kBytes], source[kBytes + 64], old[kBytes], before[kBytes];
  for (int round = 0; round < 4000; ++round) {
    const Case& c = cases()[random.next() % cases().size()];
    const bool fetches = random.next() % 2;
    MPI_Op op = c.ops[random.next() % c.ops.size()];
    if (fetches && random.next() % 8 == 0) op = MPI_NO_OP;
    Folding folding;
    ASSERT_TRUE(make_folding(op, c.type, fetches, &folding).ok());
    const int64_t element = folding.size;
    const auto first = static_cast<int64_t>(random.next() % 32) * element;
    const auto most = (kBytes - first) / element;
    const auto count =
        static_cast<int64_t>(random.next() % 2 ? random.next() % 40 : random.next()) % (most + 1);
    const int64_t bytes = (count < 0 ? -count : count) * element;
    // The source may have any alignment.
    char* from = source + random.next() % 64;
    alignas(16) char numbers[kBytes];
    fill(c.type, target, kBytes, &random);
    fill(c.type, numbers, kBytes, &random);
    std::memcpy(from, numbers, static_cast<size_t>(bytes));
    std::memcpy(model, target, kBytes);
    std::memcpy(before, target, kBytes);
    for (int64_t i = 0; i < bytes; i += element) {
      if (op == MPI_NO_OP) continue;
      char* at = model + first + i;
      if (op == MPI_REPLACE)
        std::memcpy(at, numbers + i, static_cast<size_t>(element));
      else
        (void)datatype::reduce_local(numbers + i, at, 1, folding.type, op);
    }
    const bool one_lock = random.next() % 4 == 0;
    fold(folding, target + first, op == MPI_NO_OP ? nullptr : from, fetches ? old : nullptr, bytes,
         &control, static_cast<uint64_t>(first), one_lock);
    ASSERT_EQ(std::memcmp(target, model, kBytes), 0) << "round " << round;
    if (fetches) {
      ASSERT_EQ(std::memcmp(old, before + first, static_cast<size_t>(bytes)), 0)
          << "round " << round;
    }
  }
}

/// A pair as the compiler lays it out.
template <class V>
struct Pair {
  V value;
  int index;
};

/// Folds pairs with a gap in place: bytes in the gaps do not change, and operands and results are
/// packed.
template <class V>
void fold_pairs_and_compare(MPI_Datatype type) {
  constexpr int kPairs = 5;
  constexpr size_t kIndexAt = offsetof(Pair<V>, index), kPacked = sizeof(V) + sizeof(int);
  Area area;
  Control control(area.memory, 1);
  auto store = [](unsigned char* value, unsigned char* index, int v, int i) {
    const V number = static_cast<V>(v);
    // A long double of x86 has 10 bytes, and padding behind them.
    std::memcpy(value, &number,
                LDBL_MANT_DIG == 64 ? std::min<size_t>(sizeof number, 10) : sizeof number);
    std::memcpy(index, &i, sizeof i);
  };
  for (MPI_Op op : {MPI_REPLACE, MPI_MAXLOC, MPI_MINLOC, MPI_NO_OP})
    for (bool one_lock : {false, true}) {
      Folding folding;
      ASSERT_TRUE(make_folding(op, type, true, &folding).ok());
      ASSERT_TRUE(folding.has_gap());
      ASSERT_EQ(folding.size, static_cast<int64_t>(kPacked));
      ASSERT_EQ(folding.span(kPairs * folding.size),
                static_cast<int64_t>((kPairs - 1) * sizeof(Pair<V>) + kIndexAt + sizeof(int)));
      alignas(16) unsigned char target[kPairs * sizeof(Pair<V>)], model[sizeof target];
      unsigned char source[kPairs * kPacked + 1] = {}, old[sizeof source], before[sizeof source];
      std::memset(target, 0xA5, sizeof target);
      std::memset(old, 0, sizeof old);
      std::memset(before, 0, sizeof before);
      for (size_t i = 0; i < kPairs; ++i) {
        unsigned char* at = target + i * sizeof(Pair<V>);
        unsigned char* packed = source + 1 + i * kPacked;  // operands may have any alignment
        std::memset(at, 0, sizeof(V));
        store(at, at + kIndexAt, 3, static_cast<int>(i));
        store(packed, packed + sizeof(V), i % 2 ? 2 : 4, 9);
        store(before + i * kPacked, before + i * kPacked + sizeof(V), 3, static_cast<int>(i));
      }
      std::memcpy(model, target, sizeof model);
      for (size_t i = 0; i < kPairs; ++i) {
        const bool better = op == MPI_MAXLOC ? i % 2 == 0 : i % 2 == 1;
        unsigned char* at = model + i * sizeof(Pair<V>);
        if (op == MPI_REPLACE || (op != MPI_NO_OP && better))
          store(at, at + kIndexAt, i % 2 ? 2 : 4, 9);
      }
      fold(folding, target, op == MPI_NO_OP ? nullptr : source + 1, old, kPairs * folding.size,
           &control, 0, one_lock);
      EXPECT_EQ(std::memcmp(target, model, sizeof model), 0) << std::hex << op;
      EXPECT_EQ(std::memcmp(old, before, sizeof before), 0) << std::hex << op;
    }
}

TEST(Fold, PairsKeepTheirGaps) {
  fold_pairs_and_compare<short>(MPI_SHORT_INT);
  fold_pairs_and_compare<long>(MPI_LONG_INT);
  fold_pairs_and_compare<double>(MPI_DOUBLE_INT);
  fold_pairs_and_compare<long double>(MPI_LONG_DOUBLE_INT);
}

TEST(Fold, RowsOfElementsEndWhereTheyDoNotFollow) {
  Folding folding;
  ASSERT_TRUE(make_folding(MPI_REPLACE, MPI_SHORT_INT, false, &folding).ok());
  TypeTree pairs;  // two adjacent pairs (runs that touch are joined), then a single one
  pairs.root = datatype::make_runs({{0, 2}, {4, 6}, {12, 4}, {24, 2}, {28, 4}});
  pairs.size = 18;
  pairs.extent = 40;
  TypeCursor at(pairs);
  TypeRun run;
  ASSERT_TRUE(next_elements(folding, &at, 18, &run));
  EXPECT_EQ(run.offset, 0);
  EXPECT_EQ(run.bytes, 12);
  ASSERT_TRUE(next_elements(folding, &at, 6, &run));
  EXPECT_EQ(run.offset, 24);
  EXPECT_EQ(run.bytes, 6);
  TypeTree others;  // as many bytes that are no pairs, as a malformed message may describe
  others.root = datatype::make_run(0, 6);
  others.size = others.extent = 6;
  TypeCursor elsewhere(others);
  EXPECT_FALSE(next_elements(folding, &elsewhere, 6, &run));
  ASSERT_TRUE(make_folding(MPI_REPLACE, MPI_LONG, false, &folding).ok());
  TypeCursor half(others);
  EXPECT_FALSE(next_elements(folding, &half, 6, &run));
}

TEST(Fold, BytesAddAsUnsignedIntegers) {
  for (MPI_Datatype type : {MPI_BYTE, MPI_PACKED, MPI_C_BOOL}) {
    Folding folding;
    ASSERT_TRUE(make_folding(MPI_SUM, type, false, &folding).ok());
    uint8_t target[3] = {100, 255, 7};
    const uint8_t source[3] = {200, 2, 8};
    fold(folding, target, source, nullptr, 3, nullptr, 0, true);
    EXPECT_EQ(target[0], 44);
    EXPECT_EQ(target[1], 1);
    EXPECT_EQ(target[2], 15);
  }
  Folding folding;
  EXPECT_EQ(make_folding(MPI_SUM, MPI_WCHAR, false, &folding).error_class(), MPI_ERR_OP);
  EXPECT_EQ(make_folding(MPI_BAND, MPI_DOUBLE, false, &folding).error_class(), MPI_ERR_OP);
  EXPECT_EQ(make_folding(MPI_NO_OP, MPI_INT, false, &folding).error_class(), MPI_ERR_OP);
}

/// Threads add to the same elements, some of them to many at once and some to single elements.
template <class T>
void hammer(MPI_Datatype type) {
  constexpr int kThreads = 4, kTimes = 3000, kElements = 64;
  Area area;
  Control control(area.memory, 1);
  alignas(64) static T target[kElements];
  std::memset(target, 0, sizeof target);
  Folding folding;
  ASSERT_TRUE(make_folding(MPI_SUM, type, true, &folding).ok());
  std::vector<int> added(kElements * kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      RandomSequence random(static_cast<uint64_t>(t) + 1);
      std::vector<T> ones(kElements, T(1)), old(kElements);
      for (int i = 0; i < kTimes; ++i) {
        const auto first = static_cast<int64_t>(random.next() % kElements);
        const int64_t count =
            t % 2 ? 1
                  : 1 + static_cast<int64_t>(random.next() %
                                             static_cast<uint64_t>(kElements - first));
        const auto bytes = count * static_cast<int64_t>(sizeof(T));
        fold(folding, target + first, ones.data(), i % 2 ? old.data() : nullptr, bytes, &control,
             static_cast<uint64_t>(first), false);
        for (int64_t k = first; k < first + count; ++k)
          ++added[static_cast<size_t>(t * kElements + k)];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int k = 0; k < kElements; ++k) {
    int sum = 0;
    for (int t = 0; t < kThreads; ++t) sum += added[static_cast<size_t>(t * kElements + k)];
    EXPECT_EQ(target[k], static_cast<T>(sum)) << "element " << k;
  }
}

TEST(Fold, SumsOfThreadsAreExact) {
  hammer<short>(MPI_SHORT);
  hammer<int>(MPI_INT);
  hammer<long>(MPI_LONG);
  hammer<float>(MPI_FLOAT);
  hammer<double>(MPI_DOUBLE);
}

}  // namespace
}  // namespace fgmpi::rma
