#include "coll/stored_array.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace fgmpi::coll {
namespace {

using Form = StoredArray::Form;

std::vector<int64_t> values_of(int64_t n, const std::function<int64_t(int64_t)>& f) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = f(i);
  return values;
}

Counts wide(const std::vector<int64_t>& values) {
  return Counts(reinterpret_cast<const MPI_Count*>(values.data()));
}

/// Makes a StoredArray of the values, overwrites the user's array, and compares.
std::shared_ptr<const StoredArray> kept(std::vector<int64_t> values,
                                        const StoredArray* counts = nullptr) {
  const std::vector<int64_t> original = values;
  const auto n = static_cast<int64_t>(values.size());
  std::shared_ptr<const StoredArray> array = StoredArray::store(wide(values), n, counts);
  std::fill(values.begin(), values.end(), -12345);
  std::string reason;
  EXPECT_TRUE(array->validate(&reason)) << reason;
  EXPECT_EQ(array->size(), n);
  for (int64_t i = 0; i < n; ++i)
    EXPECT_EQ(array->at(i), original[static_cast<size_t>(i)]) << i << " of " << n;
  return array;
}

TEST(StoredArray, RegularOnesTakeNoRoom) {
  for (int64_t n : {0, 1, 2, 3, 10'000})
    for (int64_t step : {0, 1, -7, 1 << 30}) {
      auto array = kept(values_of(n, [&](int64_t i) { return 5 + i * step; }));
      EXPECT_EQ(array->form(), Form::kRule);
      EXPECT_EQ(array->bytes(), sizeof(StoredArray));
    }
}

TEST(StoredArray, RunsOfRulesAreKeptAsRuns) {
  auto array = kept(values_of(10'000, [](int64_t i) { return i < 4000 ? 8 : i < 4001 ? 3 : i; }));
  EXPECT_EQ(array->form(), Form::kRuns);
  EXPECT_LE(array->bytes(), sizeof(StoredArray) + 256);
}

TEST(StoredArray, DisplacementsThatAreSumsOfIrregularCounts) {
  std::mt19937_64 random(3);
  auto counts = kept(values_of(10'000, [&](int64_t) { return random() % 200; }));
  EXPECT_EQ(counts->form(), Form::kNarrow);
  EXPECT_LE(counts->bytes(), sizeof(StoredArray) + 10'000);
  int64_t sum = 77;
  auto displs = kept(values_of(10'000,
                               [&](int64_t i) {
                                 if (i > 0) sum += counts->at(i - 1);
                                 return sum;
                               }),
                     counts.get());
  EXPECT_EQ(displs->form(), Form::kSums);
  EXPECT_LE(displs->bytes(), sizeof(StoredArray) + 10'008);
}

TEST(StoredArray, NumbersTakeAsFewBytesAsHoldThem) {
  std::mt19937_64 random(4);
  for (int bits : {7, 15, 31, 63}) {
    auto array = kept(values_of(5000, [&](int64_t) {
      return static_cast<int64_t>(random() >> (64 - bits)) - (int64_t{1} << (bits - 1));
    }));
    EXPECT_EQ(array->form(), Form::kNarrow);
    EXPECT_EQ(array->bytes(), sizeof(StoredArray) + 5000u * static_cast<size_t>((bits + 1) / 8));
  }
  kept({INT64_MIN, INT64_MAX, 0, INT64_MAX, INT64_MIN, -1});
}

TEST(StoredArray, RandomOnesOfManyShapes) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const auto n = static_cast<int64_t>(random() % 60);
    const uint64_t range = uint64_t{1} << random() % 5, change = 1 + random() % 9;
    int64_t step = 0, value = 0;
    kept(values_of(n, [&](int64_t) {
      if (random() % change == 0) step = static_cast<int64_t>(random() % range);
      if (random() % (3 * change) == 0) value = static_cast<int64_t>(random() % 1000);
      return value += step;
    }));
  }
}

TEST(StoredArray, EqualOnesAreKeptOnce) {
  std::mt19937_64 random(6);
  auto counts = values_of(4000, [&](int64_t) { return random() % 1000; });
  auto displs = values_of(4000, [&](int64_t) { return random() % 100'000; });
  auto a = kept(counts), b = kept(displs), c = kept(counts), d = kept(displs);
  EXPECT_EQ(a, c);
  EXPECT_EQ(b, d);
  counts.back() ^= 1;
  EXPECT_NE(kept(counts), a);
}

TEST(StoredArray, ArraysOfInt) {
  const int values[] = {4, -2, 0, 9, 9};
  auto array = StoredArray::store(Counts(values), 5);
  const Counts counts(array.get());
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(counts[i], values[i]);
}

}  // namespace
}  // namespace fgmpi::coll
