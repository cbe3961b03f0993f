#include "proclet-sched/threads/completions.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/futex.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {
namespace {

struct Numbered : Completion {
  int poster = 0, number = 0;
};
std::vector<std::vector<int>>* g_seen;  ///< for each poster, the numbers in the order of done()

/// Posts `each` completions from each of `posters` threads while the caller drains (and sleeps when
/// it finds nothing).
void post_together(int posters, int each, bool sleep) {
  std::vector<std::vector<int>> seen(posters);
  g_seen = &seen;
  std::vector<std::vector<Numbered>> all(posters, std::vector<Numbered>(each));
  std::vector<std::thread> threads;
  for (int p = 0; p < posters; ++p)
    threads.emplace_back([&all, p, each] {
      for (int i = 0; i < each; ++i) {
        Numbered& c = all[p][i];
        c.poster = p;
        c.number = i;
        c.done = [](Completion* done) {
          auto* n = static_cast<Numbered*>(done);
          (*g_seen)[n->poster].push_back(n->number);
        };
        post_completion(&c);
        if (i % 32 == 0) sched_yield();
      }
    });
  size_t count = 0;
  while (count < size_t(posters) * each) {
    if (!drain_completions() && sleep) {
      std::atomic<uint32_t> woken{0};
      SleepUntilPosted posts(&woken, nullptr);
      // The sleep has no limit, so a lost wake-up hangs the test.
      while (posts.may_sleep() && woken.load() == 0)
        futex_wait(&woken, 0, -1, FutexScope::kProcess);
    }
    count = 0;
    for (const auto& numbers : seen) count += numbers.size();
  }
  for (std::thread& t : threads) t.join();
  EXPECT_FALSE(drain_completions());
  for (const auto& numbers : seen) {
    ASSERT_EQ(numbers.size(), size_t(each));
    for (int i = 0; i < each; ++i) ASSERT_EQ(numbers[i], i);
  }
}

TEST(Completions, EachIsHandledOnceInTheOrderOfItsPoster) {
  for (int posters : {1, 2, 5}) {
    post_together(posters, 3000, false);
    post_together(posters, 3000, true);
  }
}

TEST(Completions, DoneMayPostAgainAndFree) {
  struct Chain : Completion {
    int left = 5;
  };
  static int handled;
  handled = 0;
  auto* chain = new Chain;
  chain->done = [](Completion* c) {
    ++handled;
    if (--static_cast<Chain*>(c)->left > 0) return post_completion(c);
    delete static_cast<Chain*>(c);
  };
  post_completion(chain);
  int rounds = 0;
  while (drain_completions()) ++rounds;
  EXPECT_EQ(handled, 5);
  EXPECT_EQ(rounds, 5);
}

// ---- with proclets: not run by the thread sanitizer ----

const WaitSite kOutside{"outside", nullptr, false};

struct Wakes : Completion {
  Proclet* proclet;
};

/// Parks the calling proclet until a thread that is started now has posted, after `ns`.
void wait_for_thread(int64_t ns) {
  Wakes c;
  c.proclet = current();
  c.done = [](Completion* done) { ready(static_cast<Wakes*>(done)->proclet); };
  std::thread poster([&c, ns] {
    timespec t = to_timespec(ns);
    nanosleep(&t, nullptr);
    post_completion(&c);
  });
  park(&kOutside);
  poster.join();
}

void run_ranks(uint32_t count, std::function<void()> body) {
  auto enter = [](void* p) { (*static_cast<std::function<void()>*>(p))(); };
  ASSERT_TRUE(create_ranks(count, enter, &body).ok());
  EXPECT_EQ(run(), 0);
}

TEST(CompletionsOfProclets, EndTheSleepOfAProcessWithoutHooks) {
  run_ranks(3, [] {
    for (int i = 0; i < 20; ++i) wait_for_thread(i * 20'000);
  });
}

TEST(CompletionsOfProclets, ComeInWhileOthersAreBusy) {
  static int waiting;
  waiting = 3;
  run_ranks(5, [] {
    if (current()->index < 3) {
      wait_for_thread(1'000'000);
      --waiting;
    } else {
      while (waiting > 0) yield();
    }
  });
}

std::atomic<uint32_t> g_word{0};
std::atomic<int> g_interrupts{0};

TEST(CompletionsOfProclets, InterruptTheSleepOnTheNetwork) {
  Hooks hooks;
  hooks.spin_ns = 1000;
  hooks.sleep = [](int64_t timeout_ns) {
    while (g_word.exchange(0) == 0) futex_wait(&g_word, 0, timeout_ns, FutexScope::kProcess);
  };
  hooks.interrupt = [] {
    ++g_interrupts;
    g_word.store(1);
    futex_wake(&g_word, FutexScope::kProcess);
  };
  g_interrupts = 0;
  set_hooks(hooks);
  run_ranks(2, [] {
    for (int i = 0; i < 20; ++i) wait_for_thread(500'000);
  });
  set_hooks(Hooks());
  EXPECT_GT(g_interrupts.load(), 0);
}

}  // namespace
}  // namespace fgmpi::sched
