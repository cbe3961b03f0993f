#include "base/plain_mutex.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <mutex>
#include <thread>
#include <vector>

namespace fgmpi {
namespace {

TEST(PlainMutex, Excludes) {
  PlainMutex mutex;
  long count = 0;  // protected by the mutex
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::lock_guard<PlainMutex> guard(mutex);
        const long before = count;
        if (i % 500 == 0) sched_yield();
        count = before + 1;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, 20000);
}

}  // namespace
}  // namespace fgmpi
