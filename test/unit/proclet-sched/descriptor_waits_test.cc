#include "proclet-sched/threads/descriptor_waits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "base/clock.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {
namespace {

void run_ranks(uint32_t count, std::function<void()> body) {
  auto enter = [](void* p) { (*static_cast<std::function<void()>*>(p))(); };
  ASSERT_TRUE(create_ranks(count, enter, &body).ok());
  EXPECT_EQ(run(), 0);
}

struct Pipe {
  int ends[2];
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() { close(ends[0]), close(ends[1]); }
  pollfd readable() const { return {ends[0], POLLIN, 0}; }
  void fill() const { EXPECT_EQ(write(ends[1], "x", 1), 1); }
};

InterruptionCounts g_counts, g_counts_of_other;

WaitEnd wait_for(const pollfd* fds, size_t count, int64_t ns = -1, bool restarts = true) {
  const int64_t deadline = ns < 0 ? INT64_MAX : now_ns() + ns;
  return wait_for_descriptors({"test", fds, count, deadline, &g_counts, g_counts.read(), restarts});
}

TEST(DescriptorWaits, OthersRunUntilOneIsReady) {
  Pipe first, second;
  bool done = false;
  int turns = 0;
  run_ranks(2, [&] {
    if (current()->index == 0) {
      const pollfd fds[] = {first.readable(), second.readable()};
      EXPECT_EQ(wait_for(fds, 2), WaitEnd::kReady);
      done = true;
    } else {
      sleep_for(20'000'000);
      EXPECT_FALSE(done);
      second.fill();
      while (!done) yield(), ++turns;
    }
  });
  EXPECT_GT(turns, 0);
}

TEST(DescriptorWaits, TimeEndsThem) {
  Pipe p;
  run_ranks(3, [&] {
    const int64_t start = now_ns(), ns = (current()->index + 1) * 10'000'000;
    const pollfd fd = p.readable();
    EXPECT_EQ(wait_for(&fd, current()->index == 2 ? 0 : 1, ns), WaitEnd::kTimeOver);
    EXPECT_GE(now_ns() - start, ns);
  });
}

TEST(DescriptorWaits, HandlersEndThem) {
  Pipe p;
  int over = 0;
  run_ranks(3, [&] {
    const pollfd fd = p.readable();
    switch (current()->index) {
      case 0:
        EXPECT_EQ(wait_for(&fd, 1, -1, false), WaitEnd::kInterrupted);
        ++over;
        break;
      case 1:
        EXPECT_EQ(wait_for(nullptr, 0, -1, true), WaitEnd::kInterrupted);
        ++over;
        break;
      default:
        sleep_for(5'000'000);
        count_interruption(&g_counts_of_other, false);
        sleep_for(5'000'000);
        EXPECT_EQ(over, 0);
        count_interruption(&g_counts, true);
        while (over < 1) yield();
        sleep_for(5'000'000);
        EXPECT_EQ(over, 1);
        count_interruption(&g_counts, false);
    }
  });
  EXPECT_EQ(over, 2);
}

TEST(DescriptorWaits, OneThreadPollsForManyAndEnds) {
  constexpr uint32_t kRanks = 200;
  std::vector<Pipe> pipes(kRanks);
  uint32_t woken = 0;
  run_ranks(kRanks, [&] {
    const uint32_t me = current()->index;
    for (int round = 0; round < 5; ++round) {
      if (me > 0) {
        const pollfd fd = pipes[me].readable();
        EXPECT_EQ(wait_for(&fd, 1), WaitEnd::kReady);
        char c;
        EXPECT_EQ(read(fd.fd, &c, 1), 1);
      }
      ++woken;
      if (me + 1 < kRanks) pipes[me + 1].fill();  // each rank wakes the next one
    }
  });
  EXPECT_EQ(woken, 5 * kRanks);
  EXPECT_TRUE(polls_descriptors());
  run_ranks(1, [] {
    for (int i = 0; i < 100 && polls_descriptors(); ++i) sleep_for(100'000'000);
    EXPECT_FALSE(polls_descriptors());
  });
}

}  // namespace
}  // namespace fgmpi::sched
