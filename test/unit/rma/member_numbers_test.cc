// Compares progressions with the lists that they encode.
#include "rma/member_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"

namespace fgmpi::rma {
namespace {

void expect_same(const MemberNumbers& p, const std::vector<int64_t>& numbers) {
  ASSERT_EQ(p.size(), numbers.size());
  for (uint32_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i], numbers[i]);
  std::vector<uint8_t> bytes;
  p.write(&bytes);
  FieldReader in(bytes.data(), bytes.size());
  MemberNumbers back;
  back.read(&in);
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(in.left(), 0u);
  ASSERT_EQ(back.size(), numbers.size());
  for (uint32_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], numbers[i]);
}

TEST(MemberNumbers, StoresEvenlySpacedNumbersAsARule) {
  for (int64_t step : {0, 1, -8, 4096}) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 1000; ++i) numbers.push_back(77 + i * step);
    MemberNumbers p(numbers);
    EXPECT_TRUE(p.regular());
    EXPECT_EQ(p.bytes(), 0u);
    expect_same(p, numbers);
  }
}

TEST(MemberNumbers, RandomNumbers) {
  RandomSequence random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> numbers(random.next() % 40);
    for (int64_t& n : numbers) n = static_cast<int64_t>(random.next() >> (random.next() % 60));
    expect_same(MemberNumbers(numbers), numbers);
  }
}

TEST(MemberNumbers, FindsWhatIsThere) {
  RandomSequence random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> numbers;
    int64_t at = static_cast<int64_t>(random.next() % 10);
    const bool even = round % 2;
    const int64_t step = 1 + static_cast<int64_t>(random.next() % 3);
    for (uint64_t i = 0, n = random.next() % 30; i < n; ++i) {
      numbers.push_back(at);
      at += even ? step : 1 + static_cast<int64_t>(random.next() % 4);
    }
    const MemberNumbers p(numbers);
    for (int64_t x = -2; x < at + 2; ++x) {
      const auto found = std::find(numbers.begin(), numbers.end(), x);
      EXPECT_EQ(p.find(x),
                found == numbers.end() ? ~0u : static_cast<uint32_t>(found - numbers.begin()));
    }
  }
}

TEST(MemberNumbers, RefusesWhatIsCutOff) {
  std::vector<uint8_t> bytes;
  MemberNumbers({1, 5, 6}).write(&bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    FieldReader in(bytes.data(), n);
    MemberNumbers p;
    p.read(&in);
    EXPECT_TRUE(in.failed());
    EXPECT_EQ(p.size(), 0u);
  }
}

}  // namespace
}  // namespace fgmpi::rma
