#include "proclet-sched/threads/blocking.h"

#include <gtest/gtest.h>
#include <time.h>

#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/stand_still.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {
namespace {

void run_ranks(uint32_t count, std::function<void()> body) {
  auto enter = [](void* p) { (*static_cast<std::function<void()>*>(p))(); };
  ASSERT_TRUE(create_ranks(count, enter, &body).ok());
  EXPECT_EQ(run(), 0);
}

/// Lets another thread wait for `ns`; returns `number` plus one.
int wait_elsewhere(int number, int64_t ns) {
  struct Call {
    int number;
    int64_t ns;
  } call{number, ns};
  EXPECT_TRUE(call_on_other_thread(
      "test",
      [](void* p) {
        auto* c = static_cast<Call*>(p);
        stand_still(c->ns);
        ++c->number;
      },
      &call));
  return call.number;
}

TEST(Blocking, OthersRunMeanwhile) {
  int64_t slept = -1;
  int turns = 0;
  bool done = false;
  run_ranks(2, [&] {
    if (current()->index == 0) {
      const int64_t start = now_ns();
      EXPECT_EQ(wait_elsewhere(41, 20'000'000), 42);
      slept = now_ns() - start;
      done = true;
    } else {
      while (!done) yield(), ++turns;
    }
  });
  EXPECT_GE(slept, 20'000'000);
  EXPECT_GT(turns, 10);
}

TEST(Blocking, ManyWaitAtOnceAndThreadsAreUsedAgain) {
  constexpr uint32_t kRanks = 40;
  std::vector<int> sums(kRanks);
  run_ranks(kRanks, [&] {
    const uint32_t me = current()->index;
    for (int i = 0; i < 20; ++i) sums[me] += wait_elsewhere(i, (me + i) % 3 * 50'000);
  });
  for (int sum : sums) EXPECT_EQ(sum, 210);
  EXPECT_LE(blocking_threads(), kRanks);
}

TEST(Blocking, ThreadsThatAreNotNeededEnd) {
  run_ranks(1, [] {
    wait_elsewhere(0, 0);
    // A process that sleeps trims some times a second.
    for (int i = 0; i < 100 && blocking_threads() > 0; ++i) sleep_for(100'000'000);
    EXPECT_EQ(blocking_threads(), 0u);
  });
}

}  // namespace
}  // namespace fgmpi::sched
