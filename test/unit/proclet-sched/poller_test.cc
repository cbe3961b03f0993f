// Ranks that poll in vain: they rest, and still end for whatever reason their loop ends.
#include "proclet-sched/coroutine/poller.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "proclet-sched/coroutine/call_count.h"

namespace fgmpi::sched {
namespace {

const WaitSite kPollSite{"poll", nullptr, false};

class Polling : public ::testing::TestWithParam<Options::Policy> {
 public:
  void TearDown() override { set_hooks(Hooks()); }

  /// Runs `body` as ranks. Each has a Poller.
  void run_ranks(uint32_t count, std::function<void(uint32_t)> body) {
    Options options;
    options.policy = GetParam();
    options.seed = 5;
    set_options(options);
    body_ = std::move(body);
    const auto entry = [](void* self) { static_cast<Polling*>(self)->body_(current()->index); };
    ASSERT_TRUE(create_ranks(count, entry, this).ok());
    pollers_.clear();
    for (uint32_t i = 0; i < count; ++i)
      pollers_.push_back(std::make_unique<Poller>(rank_proclet(i)));
    ASSERT_EQ(run(), 0);
    EXPECT_EQ(Poller::resting(), 0u);
  }
  /// What MPI_Test does; returns how often it was called.
  uint64_t poll_until(uint32_t rank, const std::function<bool()>& done) {
    for (uint64_t polls = 1;; ++polls) {
      count_call();
      if (done()) return polls;
      EXPECT_TRUE(may_rest());
      pollers_[rank]->let_others_run(&kPollSite);
    }
  }
  void tell(uint32_t rank) { pollers_[rank]->news()->count_down(); }

  std::vector<std::unique_ptr<Poller>> pollers_;
  std::function<void(uint32_t)> body_;
};
INSTANTIATE_TEST_SUITE_P(All, Polling,
                         ::testing::Values(Options::kFifo, Options::kLifo, Options::kRandom));

TEST_P(Polling, WhileOthersRunFewPollsAreMade) {
  constexpr int kYields = 50'000;
  bool come = false;
  uint64_t polls = 0;
  run_ranks(3, [&](uint32_t rank) {
    if (rank == 0) {
      polls = poll_until(rank, [&] { return come; });
      return;
    }
    for (int i = 0; i < kYields; ++i) yield();
    if (rank == 2) come = true, tell(0);
  });
  EXPECT_LT(polls, kYields / 4u);
}

TEST_P(Polling, ALoopThatCountsItsPollsEnds) {
  int ended = 0;
  run_ranks(5, [&](uint32_t rank) {
    if (rank > 2) {  // busy until all others have ended
      while (ended < 3) yield();
      return;
    }
    int left = 300;
    EXPECT_EQ(poll_until(rank, [&] { return --left == 0; }), 300u);
    ++ended;
  });
}

TEST_P(Polling, OnlyPollersRun) {
  int sum = 0;
  run_ranks(4, [&](uint32_t rank) {
    int left = 200 * static_cast<int>(rank + 1);
    poll_until(rank, [&] { return --left == 0; });
    ++sum;
    poll_until(rank, [&] { return sum == 4; });
  });
  EXPECT_EQ(sum, 4);
}

TEST_P(Polling, NewsThatComesWhileItIsAwakeEndsItsRow) {
  // Each message is handled; the last rank has nothing else to do than to answer.
  constexpr int kMessages = 2'000;
  std::vector<int> boxes(3, 0);
  run_ranks(3, [&](uint32_t rank) {
    for (int i = 0; i < kMessages; ++i) {
      const uint32_t next = (rank + 1) % 3;
      if (i > 0 || rank == 0) {
        ++boxes[next];
        tell(next);
      }
      if (i == kMessages - 1 && rank == 0) break;
      poll_until(rank, [&] { return boxes[rank] > 0; });
      --boxes[rank];
    }
    if (rank > 0) {
      ++boxes[(rank + 1) % 3];
      tell((rank + 1) % 3);
    }
  });
}

TEST_P(Polling, AProcessInWhichAllPollSleeps) {
  static int sleeps, sleeps_until_news;
  static Polling* self;
  static bool come;
  sleeps = 0;
  sleeps_until_news = 3;
  self = this;
  come = false;
  Hooks hooks;
  hooks.spin_ns = 1000;
  hooks.poll = [] {
    if (sleeps < sleeps_until_news || come) return false;
    come = true;
    self->tell(1);
    return true;
  };
  hooks.sleep = [](int64_t timeout) {
    EXPECT_GT(timeout, 0) << "the turns of those that poll must come";
    EXPECT_LE(timeout, 1'000'000);
    ++sleeps;
  };
  hooks.all_parked = [] {
    ADD_FAILURE() << "ranks that poll are not deadlocked";
    return true;
  };
  set_hooks(hooks);
  run_ranks(4, [&](uint32_t rank) {
    if (rank == 1) {
      poll_until(rank, [&] { return come; });
      for (uint32_t other : {0u, 2u, 3u}) tell(other);
      return;
    }
    poll_until(rank, [&] { return come; });
  });
  EXPECT_GE(sleeps, sleeps_until_news);
}

TEST_P(Polling, ThoseThatComputeBetweenTheirPollsKeepTheProcessAwake) {
  static int sleeps;
  sleeps = 0;
  Hooks hooks;
  hooks.spin_ns = 1000;
  hooks.poll = [] { return false; };
  hooks.sleep = [](int64_t) { ++sleeps; };
  set_hooks(hooks);
  volatile uint64_t sum = 0;
  run_ranks(1, [&](uint32_t rank) {
    int left = 200;
    poll_until(rank, [&] {
      for (int i = 0; i < 200'000; ++i) sum = sum + static_cast<uint64_t>(i);
      return --left == 0;
    });
  });
  EXPECT_EQ(sleeps, 0);
}

}  // namespace
}  // namespace fgmpi::sched
