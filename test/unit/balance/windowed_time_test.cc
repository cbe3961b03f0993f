// Loads in windows, beside sums over all that was added.
#include "balance/windowed_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace fgmpi::balance {
namespace {

struct AddedTime {
  int64_t at, ns;
};

int64_t sum_of_window(const std::vector<AddedTime>& added, int64_t window) {
  int64_t sum = 0;
  for (const AddedTime& each : added)
    if (each.at / kWindow == window) sum += each.ns;
  return sum;
}

int64_t naive_load(const std::vector<AddedTime>& added, int64_t at) {
  const int64_t window = at / kWindow;
  return sum_of_window(added, window) +
         sum_of_window(added, window - 1) * (kWindow - at % kWindow) / kWindow;
}

double naive_average(const std::vector<AddedTime>& added, int64_t at) {
  double average = 0;
  for (int64_t window = 0; window < at / kWindow; ++window)
    average += (static_cast<double>(sum_of_window(added, window)) - average) / 16;
  return average;
}

TEST(WindowedTime, EqualsSumsOfAllThatWasAdded) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    WindowedTime time;
    std::vector<AddedTime> added;
    int64_t at = 100 * kWindow;
    for (int i = 0; i < 200; ++i) {
      at += static_cast<int64_t>(random() % (i % 20 ? kWindow / 3 : 4 * kWindow));
      const int64_t ns = static_cast<int64_t>(random() % 5'000'000);
      time.add(at, ns);
      added.push_back({at, ns});
      const int64_t later = at + static_cast<int64_t>(random() % (3 * kWindow));
      EXPECT_EQ(time.load(later), naive_load(added, later));
      // Each step of the average rounds down to an integer.
      EXPECT_NEAR(static_cast<double>(time.lasting(later)), naive_average(added, later), 32);
    }
  }
}

TEST(WindowedTime, MovesFromOneSumToTheOther) {
  std::mt19937 random(4);
  WindowedTime rank, here, there;
  std::vector<AddedTime> of_rank, of_others, of_there;
  int64_t at = 100 * kWindow;
  for (int i = 0; i < 300; ++i) {
    at += kWindow / 7;
    rank.add(at, 1'000'000), here.add(at, 1'000'000), of_rank.push_back({at, 1'000'000});
    here.add(at, 2'000'000), of_others.push_back({at, 2'000'000});
    there.add(at, 500'000), of_there.push_back({at, 500'000});
  }
  WindowedTime::move(at, rank, &here, &there);
  EXPECT_LE(std::abs(here.load(at) - naive_load(of_others, at)), 2);
  EXPECT_LE(std::abs(there.load(at) - naive_load(of_there, at) - naive_load(of_rank, at)), 2);
  EXPECT_NEAR(static_cast<double>(here.lasting(at)), naive_average(of_others, at), 64);
  EXPECT_NEAR(static_cast<double>(there.lasting(at)),
              naive_average(of_there, at) + naive_average(of_rank, at), 64);
}

TEST(WindowedTime, AClockThatIsBehindBeginsNoWindow) {
  WindowedTime time;
  time.add(100 * kWindow + 5, 1000);
  time.add(100 * kWindow - 5, 500);
  EXPECT_EQ(time.load(100 * kWindow + 5), 1500);
  EXPECT_GT(time.load(100 * kWindow - 5), 0);
}

TEST(NextBurst, FollowsALongerOneAtOnce) {
  EXPECT_EQ(next_burst(0, 5000), 5000u);
  EXPECT_EQ(next_burst(5000, 9000), 9000u);
  EXPECT_EQ(next_burst(8000, 0), 7000u);
  EXPECT_EQ(next_burst(0, INT64_MAX), UINT32_MAX);
}

}  // namespace
}  // namespace fgmpi::balance
