#include "base/clock.h"

#include <gtest/gtest.h>

namespace fgmpi {
namespace {

TEST(Clock, SumsStayAtForEver) {
  EXPECT_EQ(add_time(5, 7), 12);
  EXPECT_EQ(add_time(12, -7), 5);
  EXPECT_EQ(add_time(1, INT64_MAX), INT64_MAX);
  EXPECT_EQ(add_time(INT64_MAX, INT64_MAX), INT64_MAX);
  EXPECT_EQ(add_time(INT64_MAX - 5, 5), INT64_MAX);
}

TEST(Clock, TimesThatDoNotFitAreForEver) {
  EXPECT_EQ(to_ns({3, 4}), 3 * kSecond + 4);
  constexpr time_t kMost = INT64_MAX / kSecond;
  EXPECT_EQ(to_ns({kMost, 0}), kMost * kSecond);
  EXPECT_EQ(to_ns({kMost, INT64_MAX % kSecond}), INT64_MAX);
  EXPECT_EQ(to_ns({kMost, kSecond - 1}), INT64_MAX);
  EXPECT_EQ(to_ns({kMost + 1, 0}), INT64_MAX);
  EXPECT_EQ(to_ns({INT64_MAX, kSecond - 1}), INT64_MAX);
}

TEST(Clock, ThereAndBack) {
  for (int64_t ns : {int64_t{0}, int64_t{1}, kSecond - 1, kSecond, 5 * kSecond + 6, INT64_MAX})
    EXPECT_EQ(to_ns(to_timespec(ns)), ns);
}

TEST(Clock, GoesOn) {
  const int64_t before = now_ns();
  EXPECT_LE(before, now_ns());
}

}  // namespace
}  // namespace fgmpi
