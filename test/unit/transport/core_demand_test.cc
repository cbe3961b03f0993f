#include "transport/core_demand.h"

#include <gtest/gtest.h>

namespace fgmpi::transport {
namespace {

constexpr int64_t kMs = 1'000'000;

/// A thread as the kernel counts its times, at moments that a test chooses.
struct Process {
  CoreDemand demand;
  int64_t now = 1'000 * kMs, thread = 7, delayed = 0, ran = 0;

  Process() { demand.judge(now, thread, delayed, ran); }
  /// Lets the thread run for `run` ms, and wait for `delay` ms while others use its core.
  void pass(double run, double delay) {
    now += static_cast<int64_t>((run + delay) * kMs);
    ran += static_cast<int64_t>(run * kMs);
    delayed += static_cast<int64_t>(delay * kMs);
    demand.judge(now, thread, delayed, ran);
  }
  void sleep(int64_t ms) {
    now += ms * kMs;
    demand.judge(now, thread, delayed, ran);
  }
  bool sleeps() { return demand.holds(now); }
};

TEST(CoreDemand, AloneAProcessPolls) {
  Process p;
  for (int i = 0; i < 1000; ++i) {
    p.pass(2, 0.2);  // the kernel's own threads use the core often, but briefly
    EXPECT_FALSE(p.sleeps()) << i;
  }
  for (int i = 0; i < 1000; ++i) {
    p.pass(10, i % 4 == 0 ? 4 : 0);  // another process has the core for one slice at times
    EXPECT_FALSE(p.sleeps()) << i;
  }
}

TEST(CoreDemand, AmongBusyOthersItSleeps) {
  Process p;
  p.pass(3, 3);
  EXPECT_FALSE(p.sleeps()) << "less than a slice of another process";
  p.pass(3, 3);
  EXPECT_TRUE(p.sleeps());
  p.now += CoreDemand::kShortestHold - 1;
  EXPECT_TRUE(p.sleeps());
  p.now += 1;
  EXPECT_FALSE(p.sleeps());
}

/// The process polls again from time to time, and more seldom each time that it loses the core.
TEST(CoreDemand, TriesAgainMoreAndMoreSeldom) {
  Process p;
  int64_t asleep = 0, awake = 0;
  for (int i = 0; i < 1000; ++i) {
    if (p.sleeps()) {
      asleep += 5;
      p.sleep(5);
    } else {
      awake += 6;
      p.pass(2, 4);
    }
  }
  EXPECT_GT(asleep, 20 * awake);
  EXPECT_GT(awake, 0);
  // The other processes end: soon this one polls all the time.
  for (int i = 0; i < 200; ++i) p.pass(5, 0);
  EXPECT_FALSE(p.sleeps());
  p.pass(1, 5);
  EXPECT_TRUE(p.sleeps());
  p.sleep(CoreDemand::kShortestHold / kMs);
  EXPECT_FALSE(p.sleeps()) << "what was long ago does not count";
}

/// Numbers of different threads are not compared.
TEST(CoreDemand, AnotherThreadBeginsAnew) {
  Process p;
  p.pass(2, 3);
  p.thread = 8;
  p.delayed += 100 * kMs;
  p.pass(2, 3);
  EXPECT_FALSE(p.sleeps());
  p.pass(2, 4);
  EXPECT_TRUE(p.sleeps());
}

TEST(CoreDemand, LooksAtTheKernelNowAndThen) {
  CoreDemand demand;
  for (int64_t now = 1; now < 1'000'000'000; now += 1'000'000) demand.is_high(now);
}

}  // namespace
}  // namespace fgmpi::transport
