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

/// Random events at up to `range` units of time after the present; what is taken is that of a
/// sorted set.
void compare(uint32_t seed, uint64_t range) {
  std::mt19937_64 dice(seed);
  EventQueue<TestEvent> queue;
  std::deque<TestEvent> events;
  std::set<std::pair<VirtualTime, uint64_t>> model;
  VirtualTime now = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const bool add = model.empty() || dice() % 5 < (i < 10'000 ? 3u : 2u);
    if (add) {
      const auto at = now + static_cast<VirtualTime>(dice() % range);
      const uint64_t order = dice() % 1024 << 32 | i;
      queue.push(&events.emplace_back(TestEvent{at, order}));
      ASSERT_EQ(queue.pushed(), events.size());
      model.emplace(at, order);
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
    for (uint32_t seed = 1; seed <= 3; ++seed) compare(seed, range);
}

}  // namespace
}  // namespace fgmpi::predict
