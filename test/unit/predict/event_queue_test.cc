// Events come in the order of time, rank and number, as a sorted list has them.
#include "predict/event_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace fgmpi::predict {
namespace {

TEST(EventQueue, OrderIsThatOfASortedSet) {
  std::mt19937 dice(1);
  EventQueue queue;
  std::set<std::pair<VirtualTime, uint64_t>> model;
  for (uint64_t i = 0; i < 100'000; ++i) {
    // Many at the same time: 64 times, 1,024 ranks.
    const bool add = model.empty() || dice() % 5 < (i < 50'000 ? 3u : 2u);
    if (add) {
      const auto at = static_cast<VirtualTime>(dice() % 64);
      const uint64_t order = uint64_t{dice() % 1024} << 32 | i;
      queue.push({at, order, nullptr, Event::kWake, 0});
      model.emplace(at, order);
      continue;
    }
    ASSERT_FALSE(queue.empty());
    ASSERT_EQ(queue.first().at, model.begin()->first);
    const Event first = queue.pop();
    ASSERT_EQ(std::make_pair(first.at, first.order), *model.begin());
    model.erase(model.begin());
    ASSERT_EQ(queue.size(), model.size());
  }
}

}  // namespace
}  // namespace fgmpi::predict
