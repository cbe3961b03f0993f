// The queue of completions and the sleep that a post ends (src/proclet-sched/threads). The source is
// included, since its state is not visible elsewhere.

#include "proclet-sched/threads/completions.cc"

#include <gtest/gtest.h>

#include "model.h"

namespace fgmpi::sched {
namespace {

constexpr int kExecutions = 20'000;
constexpr int kPosters = 2, kEach = 2;

struct NumberedCompletion : Completion {
  int poster = 0, number = 0;  ///< written by the poster, read by done()
};

/// Posters, and a thread that handles what they post and sleeps in between.
struct PostAndSleep : model::Scenario {
  static inline PostAndSleep* now = nullptr;
  NumberedCompletion completions[kPosters][kEach];
  int handled[kPosters] = {};
  std::atomic<uint32_t> word{0};
  bool by_interrupt;

  explicit PostAndSleep(bool interrupt) : by_interrupt(interrupt) {
    now = this;
    detail::g_posted = nullptr;
    g_sleeper = kAwake;
    model::name(&detail::g_posted, "posted");
    model::name(&g_sleeper, "sleeper");
    model::name(&word, "word");
  }
  static void interrupt() {
    now->word.store(1, std::memory_order_release);
    futex_wake(&now->word, FutexScope::kProcess);
  }
  void post(int poster) {
    for (int i = 0; i < kEach; ++i) {
      NumberedCompletion& c = completions[poster][i];
      c.poster = poster;
      c.number = i;
      c.done = [](Completion* posted) {
        auto* c = static_cast<NumberedCompletion*>(posted);
        if (c->number != now->handled[c->poster]++) model::fail("not in the order of posting");
      };
      post_completion(&c);
    }
  }
  void handle() {
    while (handled[0] + handled[1] < kPosters * kEach) {
      if (drain_completions()) continue;
      word.store(0, std::memory_order_relaxed);
      SleepUntilPosted posts(by_interrupt ? nullptr : &word, interrupt);
      if (posts.may_sleep()) futex_wait(&word, 0, -1, FutexScope::kProcess);
    }
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { handle(); }, [this] { post(0); }, [this] { post(1); }};
  }
};

TEST(ModelOfCompletions, APostEndsTheSleep) {
  for (const bool interrupt : {false, true})
    EXPECT_EQ(
        model::judge([&] { return std::make_unique<PostAndSleep>(interrupt); }, kExecutions,
                     {"word store"}),  // what the poster has written is acquired with the list
        "")
        << (interrupt ? "by an interrupt" : "by a word");
}

}  // namespace
}  // namespace fgmpi::sched
