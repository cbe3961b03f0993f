#include "proclet-sched/engine_lock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace fgmpi::sched {
namespace {

/// The scheduler's thread (the test's) and `others` foreign ones add to a plain number under the lock.
void count_together(EngineLock* lock, int others, int each, bool pause) {
  long count = 0;  // protected by the lock
  std::atomic<int> running{others};
  std::vector<std::thread> threads;
  for (int i = 0; i < others; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < each; ++n) {
        lock->lock();
        ++count;
        lock->unlock();
        if (pause && n % 16 == 0) sched_yield();
      }
      --running;
    });
  long mine = 0;
  while (running > 0 || mine < each) {
    lock->lock_on_scheduler_thread();
    ++count;
    ++mine;
    lock->unlock_on_scheduler_thread();
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, mine + long{others} * each);
}

TEST(EngineLock, ExcludesWithAndWithoutBias) {
  for (int others : {0, 1, 3, 7}) {
    auto biased = std::make_unique<EngineLock>();
    biased->prepare();
    count_together(biased.get(), others, 2000, false);
    count_together(biased.get(), others, 2000, true);  // the bias is gone where there are others
    auto plain = std::make_unique<EngineLock>();
    count_together(plain.get(), others, 2000, false);
  }
}

TEST(EngineLock, BiasIsTakenAwayWhileTheSchedulersThreadIsInside) {
  for (int round = 0; round < 200; ++round) {
    auto lock = std::make_unique<EngineLock>();
    lock->prepare();
    int value = 0;  // protected by the lock
    lock->lock_on_scheduler_thread();
    std::thread other([&] {
      lock->lock();
      EXPECT_EQ(value, 1);
      value = 2;
      lock->unlock();
    });
    if (round % 2)
      while (!lock->contended()) sched_yield();
    value = 1;
    lock->unlock_on_scheduler_thread();
    other.join();
    lock->lock_on_scheduler_thread();
    EXPECT_EQ(value, 2);
    lock->unlock_on_scheduler_thread();
  }
}

TEST(EngineLock, SleepingThreadsGetInBesideOneThatComesBackAtOnce) {
  auto lock = std::make_unique<EngineLock>();
  std::atomic<int> entered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        lock->lock();
        lock->unlock();
        sched_yield();
      }
      ++entered;
    });
  while (entered < 3) {
    lock->lock_on_scheduler_thread();
    lock->unlock_on_scheduler_thread();
  }
  for (std::thread& t : threads) t.join();
  EXPECT_FALSE(lock->contended());
}

}  // namespace
}  // namespace fgmpi::sched
