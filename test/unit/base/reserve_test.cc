#include "base/reserve.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fgmpi {
namespace {

/// A naive model: a pool of objects, last in first out, which records for each whether it has been
/// used since the last trim.
struct NaivePool {
  std::vector<bool> used;  ///< the top is at the back
  void put() { used.push_back(true); }
  void take() { used.pop_back(); }
  uint32_t trim(uint32_t kept, uint32_t threshold) {
    uint32_t idle = 0;
    for (bool each : used) idle += !each;
    const uint32_t excess = idle > threshold ? idle - kept : 0;
    used.assign(used.size() - excess, false);
    return excess;
  }
};

TEST(Reserve, FreesWhatWasIdleSinceTheLastTrim) {
  std::mt19937 random(1);
  for (uint32_t threshold : {4u, 8u}) {
    ReserveCount reserve;
    NaivePool pool;
    uint64_t freed = 0;
    for (int step = 0; step < 100'000; ++step) {
      const bool grows = step / 500 % 2 == 0;  // bursts
      if (random() % 40 == 0) {
        const uint32_t excess = reserve.release_excess(4, threshold);
        ASSERT_EQ(excess, pool.trim(4, threshold)) << step;
        freed += excess;
      } else if (random() % 8 < (grows ? 5 : 3)) {
        reserve.put();
        pool.put();
      } else if (reserve.count() > 0) {
        reserve.take();
        pool.take();
      }
      ASSERT_EQ(reserve.count(), pool.used.size());
      ASSERT_EQ(reserve.has_more_than(threshold), pool.used.size() > threshold);
    }
    EXPECT_GT(freed, 1000u);
  }
}

TEST(Reserve, KeepsSomeForEver) {
  ReserveCount reserve;
  for (int i = 0; i < 100; ++i) reserve.put();
  EXPECT_EQ(reserve.release_excess(16, 32), 0u);   // all were added since the last trim
  EXPECT_EQ(reserve.release_excess(16, 32), 84u);  // none was needed
  EXPECT_EQ(reserve.release_excess(16, 32), 0u);
  EXPECT_EQ(reserve.count(), 16u);
}

}  // namespace
}  // namespace fgmpi
