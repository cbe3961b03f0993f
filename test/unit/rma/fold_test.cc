// Folding against one element after the other, and from several threads at once with sums that must be exact.
#include "rma/fold.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "host/op.h"

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
    const int64_t element = folding.element;
    const auto first = static_cast<int64_t>(random.next() % 32) * element;
    const auto most = (kBytes - first) / element;
    const auto count =
        static_cast<int64_t>(random.next() % 2 ? random.next() % 40 : random.next()) % (most + 1);
    const int64_t bytes = (count < 0 ? -count : count) * element;
    // The source may be anywhere.
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
        (void)host::reduce_local(numbers + i, at, 1, folding.type, op);
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

/// Threads add to the same elements, some to many at once and some to single ones.
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
