// Events come in the order of time, rank and number, as a sorted list has them.
#include "predict/event_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>
#include <utility>

namespace fgmpi::predict {
namespace {

struct TestEvent {
  VirtualTime at;
  uint64_t rank_and_number;
  TestEvent* next = nullptr;
  uint64_t order() const { return rank_and_number; }
};

/// Random events at up to `range` units of time after the present, or up to `other`; some at the
/// same time as `burst` others. What is taken is that of a sorted set.
void compare(uint32_t seed, uint64_t range, uint64_t other, uint64_t burst) {
  std::mt19937_64 dice(seed);
  EventQueue<TestEvent> queue;
  std::deque<TestEvent> events;
  std::set<std::pair<VirtualTime, uint64_t>> model;
  VirtualTime now = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const bool add = model.empty() || dice() % 5 < (i < 10'000 ? 3u : 2u);
    if (add) {
      const auto at = now + static_cast<VirtualTime>(dice() % (dice() % 2 ? range : other));
      for (uint64_t n = dice() % 50 ? 1 : burst; n > 0; --n) {
        const auto near = at + static_cast<VirtualTime>(dice() % 3);
        const uint64_t order = dice() % 1024 << 32 | events.size();
        queue.push(&events.emplace_back(TestEvent{near, order}));
        model.emplace(near, order);
      }
      ASSERT_EQ(queue.pushed(), events.size());
    } else {
      const TestEvent* const first = queue.pop();
      ASSERT_EQ(std::make_pair(first->at, first->order()), *model.begin()) << "range " << range;
      now = first->at;
      model.erase(model.begin());
    }
    ASSERT_EQ(queue.empty(), model.empty());
    ASSERT_EQ(queue.first_time(), model.empty() ? kNever : model.begin()->first);
  }
}

TEST(EventQueue, OrderIsThatOfASortedSet) {
  // From many at the same time to none at the same time.
  for (const uint64_t range : {1ULL, 3ULL, 64ULL, 5'000ULL, 1'000'000ULL, 1ULL << 50})
    for (uint32_t seed = 1; seed <= 3; ++seed) compare(seed, range, range, 1);
}

TEST(EventQueue, NearAndFarEventsAreInOneOrder) {
  const uint64_t ranges[] = {1, 5'000, 300'000, 20'000'000, 1ULL << 44};
  for (const uint64_t range : ranges)
    for (const uint64_t other : ranges) compare(1, range, other, 100);
}

}  // namespace
}  // namespace fgmpi::predict
