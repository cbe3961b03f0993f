// Compares lists of numbers in all their forms with plain vectors.
#include "datatype/number_list.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"

namespace fgmpi::datatype {
namespace {

using Numbers = std::vector<int64_t>;
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                  kMost = std::numeric_limits<int64_t>::max();

int64_t wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// All ways to read a list.
void compare(const NumberList& list, const Numbers& numbers, RandomSequence* random) {
  ASSERT_EQ(list.size(), numbers.size());
  ASSERT_EQ(list.empty(), numbers.empty());
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(list[i], numbers[i]) << i;
  Numbers all;
  list.for_each([&](int64_t n) { all.push_back(n); });
  ASSERT_EQ(all, numbers);
  for (int k = 0; k < 10; ++k) {
    const uint64_t first = random->next() % (numbers.size() + 1),
                   count = random->next() % (numbers.size() - first + 1);
    Numbers out(count + 1, 77);
    list.read(first, count, out.data());
    const auto from = numbers.begin() + static_cast<int64_t>(first);
    ASSERT_TRUE(std::equal(from, from + static_cast<int64_t>(count), out.begin()));
    ASSERT_EQ(out[count], 77);
  }
}

/// Numbers of one of many kinds.
Numbers make_numbers(RandomSequence* random, size_t size, uint64_t kind) {
  auto pick = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random->next() % static_cast<uint64_t>(most - least + 1));
  };
  Numbers n(size);
  const auto any = [&] { return static_cast<int64_t>(random->next()); };
  int64_t at = kind % 2 ? pick(-1000, 1000) : any() / 4, step = pick(-9, 9);
  switch (kind) {
    case 0:  // equal
      std::fill(n.begin(), n.end(), any());
      break;
    case 1:  // one step, which may wrap around
      step = any();
      for (int64_t& x : n) x = at, at = wrapping(at, step);
      break;
    case 2:    // rows
    case 3:    // rows of rows
    case 4: {  // rows of rows with exceptions
      const int64_t row = pick(1, 9), rows = pick(1, 9), jump = pick(-100, 1000),
                    leap = any() >> 20;
      for (size_t i = 0; i < size; ++i) {
        n[i] = at;
        const auto k = static_cast<int64_t>(i) + 1;
        at = wrapping(at, k % row ? step : kind > 2 && k % (row * rows) == 0 ? leap : jump);
        if (kind == 4 && pick(1, 50) == 1) at += pick(-5, 5);
      }
      break;
    }
    case 5:  // rising, near
      for (int64_t& x : n) x = at, at += pick(0, 20);
      break;
    case 6:  // rising, far
      for (int64_t& x : n) x = at, at += pick(0, int64_t{1} << 45);
      break;
    case 7:  // any of few bits
      step = any() / 2;
      for (int64_t& x : n) x = step + pick(0, 100);
      break;
    case 8:  // any of many bits
      for (int64_t& x : n) x = any();
      break;
    case 9:  // both ends
      for (int64_t& x : n) x = pick(0, 1) ? kLeast + pick(0, 3) : kMost - pick(0, 3);
      break;
    case 10:  // near the least
      for (int64_t& x : n) x = kLeast + pick(0, 1 << 20);
      break;
    case 11:  // rising to the greatest
      for (int64_t& x : n) x = kMost - pick(0, int64_t{1} << 31);
      std::sort(n.begin(), n.end());
      break;
    case 12:  // rising by nearly 2^32, or a little more
      for (int64_t& x : n) x = at + pick(0, (int64_t{1} << 32) + pick(-2, 2));
      std::sort(n.begin(), n.end());
      break;
    case 13:  // falling
      for (int64_t& x : n) x = at, at -= pick(0, 20);
      break;
    case 14:  // two steps by turns
      for (size_t i = 0; i < size; ++i) n[i] = at, at += i % 2 ? 3 : 5;
      break;
    default:  // runs of equal numbers
      for (int64_t& x : n) x = at, at += pick(0, 9) ? 0 : any() >> 30;
  }
  return n;
}
constexpr uint64_t kKinds = 16;

TEST(NumberList, ReadsAsThePlainVector) {
  RandomSequence random(1);
  for (uint64_t kind = 0; kind < kKinds; ++kind)
    for (size_t round = 0; round < 90; ++round) {
      const size_t size = round < 20 ? round : random.next() % (round % 10 ? 300 : 5001);
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", " << size << " numbers");
      const Numbers numbers = make_numbers(&random, size, kind);
      const NumberList list{std::span<const int64_t>(numbers)};
      compare(list, numbers, &random);
      EXPECT_LE(list.heap_bytes(), numbers.size() * 8 + 64);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(NumberList, EqualListsAreEqual) {
  RandomSequence random(2);
  for (uint64_t kind = 0; kind < kKinds; ++kind)
    for (size_t size : {0, 1, 2, 4, 5, 63, 64, 65, 128, 1000}) {
      Numbers numbers = make_numbers(&random, size, kind);
      const NumberList a{std::span<const int64_t>(numbers)};
      NumberList b{std::span<const int64_t>(numbers)};
      EXPECT_TRUE(a == b);
      EXPECT_EQ(a.hash(), b.hash());
      const NumberList moved = std::move(b);
      EXPECT_TRUE(a == moved);
      if (size == 0) continue;
      numbers[random.next() % size] ^= int64_t{1} << random.next() % 64;
      const NumberList other{std::span<const int64_t>(numbers)};
      EXPECT_FALSE(a == other);
      EXPECT_NE(a.hash(), other.hash());
      numbers.pop_back();
      EXPECT_FALSE(a == NumberList(std::span<const int64_t>(numbers)));
    }
  EXPECT_TRUE(NumberList() == NumberList(std::span<const int64_t>()));
  EXPECT_EQ(NumberList().hash(), NumberList(std::span<const int64_t>()).hash());
  EXPECT_FALSE((NumberList{1, 2} == NumberList{2, 1}));
  EXPECT_FALSE((NumberList{0} == NumberList{0, 0}));
  EXPECT_NE((NumberList{0}).hash(), (NumberList{0, 0}).hash());
}

TEST(NumberList, RegularMillionsTakeLessThanAKibibyte) {
  constexpr size_t kCount = 1'000'000;
  RandomSequence random(3);
  Numbers equal(kCount, -5), steps(kCount), rows(kCount), grids(kCount), waves(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const auto k = static_cast<int64_t>(i);
    steps[i] = kLeast + 24 * k;
    rows[i] = k / 100 * 4096 + k % 100 * 8;
    grids[i] = k / 10000 * 1'000'000'000 + k / 100 % 100 * 4096 + k % 100 * 8;
    waves[i] = k % 2 ? 7 * k : -7 * k;
  }
  for (const Numbers* numbers : {&equal, &steps, &rows, &grids}) {
    const NumberList list{std::span<const int64_t>(*numbers)};
    EXPECT_LT(list.heap_bytes(), numbers == &grids ? 1536u : 1024u);
    compare(list, *numbers, &random);
  }
  // Nothing is regular in it, but it takes no more than its range does.
  const NumberList list{std::span<const int64_t>(waves)};
  EXPECT_LE(list.heap_bytes(), kCount * 24 / 8 + 1024);
  compare(list, waves, &random);
}

TEST(NumberList, AMillionRisingNumbersTakeLessThanTwoBytesAndAHalfEach) {
  constexpr size_t kCount = 1'000'000;
  RandomSequence random(4);
  Numbers numbers(kCount);
  int64_t at = -123'456'789'012;
  for (int64_t& n : numbers) n = at, at += static_cast<int64_t>(random.next() % 2000);
  const NumberList list{std::span<const int64_t>(numbers)};
  EXPECT_LT(list.heap_bytes(), kCount * 5 / 2);
  compare(list, numbers, &random);
}

TEST(NumberList, FewNumbersNeedNoOtherMemory) {
  EXPECT_EQ((NumberList{kLeast, kMost, 0, -1}).heap_bytes(), 0u);
  EXPECT_GT((NumberList{kLeast, kMost, 0, -1, 5}).heap_bytes(), 0u);
}

}  // namespace
}  // namespace fgmpi::datatype
