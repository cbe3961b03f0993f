#include "proclet-sched/threads/engine_lock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace fgmpi::sched {
namespace {

/// The test's thread and `others` further threads add to a plain number under the lock. If `lends`,
/// the lock is lent to the test's thread.
void count_together(EngineLock* lock, bool lends, int others, int each, bool pause) {
  long count = 0;  // protected by the lock
  std::atomic<int> running{others};
  LockUser me;
  if (lends) lock->prepare(&me);
  std::vector<std::thread> threads;
  for (int i = 0; i < others; ++i)
    threads.emplace_back([&] {
      LockUser user;
      for (int n = 0; n < each; ++n) {
        lock->lock(&user);
        ++count;
        lock->unlock(&user);
        if (pause && n % 16 == 0) sched_yield();
      }
      lock->forget(&user);
      --running;
    });
  long mine = 0;
  while (running > 0 || mine < each) {
    lock->lock(&me);
    ++count;
    ++mine;
    lock->unlock(&me);
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, mine + long{others} * each);
}

TEST(EngineLock, ExcludesWithAndWithoutLoans) {
  for (int others : {0, 1, 3, 7})
    for (bool lends : {true, false}) {
      auto lock = std::make_unique<EngineLock>();
      count_together(lock.get(), lends, others, 2000, false);
      if (!lends) count_together(lock.get(), lends, others, 2000, true);
    }
}

TEST(EngineLock, IsLentToWhoeverUsesItAlone) {
  auto lock = std::make_unique<EngineLock>();
  LockUser first, second;
  lock->prepare(&first);
  for (LockUser* user : {&first, &second, &first}) {
    int atomically = 0;
    for (int n = 0; n < 2000; ++n) {
      lock->lock(user);
      atomically += user->inside == 0;
      EXPECT_FALSE(lock->contended(user));
      lock->unlock(user);
    }
    if (atomically == 2000) GTEST_SKIP() << "the kernel has no membarrier";
    EXPECT_LT(atomically, 500);
    EXPECT_EQ(atomically == 0, user == &first && second.was_lent == false);
  }
}

TEST(EngineLock, ALoanIsTakenAwayFromAThreadThatEnds) {
  // The thread that ends the loan reads the LockUser of the borrowing thread, which ends meanwhile.
  auto lock = std::make_unique<EngineLock>();
  LockUser me;
  lock->prepare(&me);
  long count = 0, expected = 0;
  for (int round = 0; round < 200; ++round) {
    std::thread other([&] {
      auto user = std::make_unique<LockUser>();
      for (int n = 0; n < 600; ++n) {
        lock->lock(user.get());
        ++count;
        lock->unlock(user.get());
      }
      lock->forget(user.get());
    });
    expected += 600;
    for (int n = 0; n < round; ++n, ++expected) {
      lock->lock(&me);
      ++count;
      lock->unlock(&me);
      if (n % 8 == 0) sched_yield();
    }
    other.join();
  }
  EXPECT_EQ(count, expected);
}

TEST(EngineLock, TheLoanIsTakenAwayWhileItsThreadIsInside) {
  for (int round = 0; round < 200; ++round) {
    auto lock = std::make_unique<EngineLock>();
    LockUser me;
    lock->prepare(&me);
    int value = 0;  // protected by the lock
    lock->lock(&me);
    std::thread other([&] {
      LockUser user;
      lock->lock(&user);
      EXPECT_EQ(value, 1);
      value = 2;
      lock->unlock(&user);
      lock->forget(&user);
    });
    if (round % 2)
      while (!lock->contended(&me)) sched_yield();
    value = 1;
    lock->unlock(&me);
    other.join();
    lock->lock(&me);
    EXPECT_EQ(value, 2);
    lock->unlock(&me);
  }
}

TEST(EngineLock, SleepingThreadsGetInBesideOneThatComesBackAtOnce) {
  for (bool lends : {true, false}) {
    auto lock = std::make_unique<EngineLock>();
    std::atomic<int> entered{0};
    LockUser me;
    if (lends) lock->prepare(&me);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        LockUser user;
        for (int n = 0; n < 20; ++n) {
          lock->lock(&user);
          lock->unlock(&user);
          sched_yield();
        }
        lock->forget(&user);
        ++entered;
      });
    while (entered < 3) {
      lock->lock(&me);
      lock->unlock(&me);
    }
    for (std::thread& t : threads) t.join();
    EXPECT_FALSE(lock->contended(&me));
  }
}

}  // namespace
}  // namespace fgmpi::sched
