#include "transport/core_demand.h"

#include <gtest/gtest.h>

namespace fgmpi::transport {
namespace {

constexpr int64_t kMs = 1'000'000;

/// What the kernel would count of a process, at moments that a test chooses.
struct Process {
  CoreDemand demand;
  int64_t now = 1'000 * kMs, taken = 0, used = 0;

  Process() { demand.judge(now, taken, used); }
  /// `wall` ms pass, of which it runs `cpu`; the kernel takes the core so often.
  void pass(int64_t wall, int64_t cpu, int64_t times) {
    now += wall * kMs;
    used += cpu * kMs;
    taken += times;
    demand.judge(now, taken, used);
  }
  bool sleeps() { return demand.holds(now); }
};

TEST(CoreDemand, AloneAProcessPolls) {
  Process p;
  for (int i = 0; i < 1000; ++i) {
    p.pass(5, 5, i % 10 == 0);  // a thread of the kernel's now and then
    EXPECT_FALSE(p.sleeps()) << i;
  }
}

TEST(CoreDemand, AmongBusyOthersItSleeps) {
  Process p;
  p.pass(30, 4, 1);
  EXPECT_FALSE(p.sleeps()) << "once may be anybody";
  p.pass(30, 4, 1);
  EXPECT_TRUE(p.sleeps());
  p.now += CoreDemand::kShortestHold - 1;
  EXPECT_TRUE(p.sleeps());
  p.now += 1;
  EXPECT_FALSE(p.sleeps());
}

/// It polls again from time to time: the more seldom, the more often that was in vain.
TEST(CoreDemand, TriesAgainMoreAndMoreSeldom) {
  Process p;
  int64_t asleep = 0, awake = 0;
  for (int i = 0; i < 1000; ++i) {
    if (p.sleeps()) {
      asleep += 5;
      p.pass(5, 1, 0);
    } else {
      awake += 5;
      p.pass(5, 3, 1);
    }
  }
  EXPECT_GT(asleep, 20 * awake);
  EXPECT_GT(awake, 0);
  // The others end: soon it polls for good.
  for (int i = 0; i < 200; ++i) p.pass(5, 5, 0);
  EXPECT_FALSE(p.sleeps());
  p.pass(5, 4, 2);
  EXPECT_TRUE(p.sleeps());
  p.pass(CoreDemand::kShortestHold / kMs, 1, 0);
  EXPECT_FALSE(p.sleeps()) << "what was long ago does not count";
}

TEST(CoreDemand, LooksAtTheKernelNowAndThen) {
  CoreDemand demand;
  for (int64_t now = 1; now < 1'000'000'000; now += 1'000'000) demand.is_high(now);
}

}  // namespace
}  // namespace fgmpi::transport
