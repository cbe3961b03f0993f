// The protocol of forwarding.h, explored completely for small cases: every order in which frames
// arrive, ranks send, receive, leave and come is tried, and states that were met before are not
// tried again. Longer cases are tried in random orders.

#include "pt2pt/forwarding.h"

#include <random>

#include "moving_job.h"

namespace fgmpi::pt2pt {
namespace {

using namespace testing;

class EveryOrder : public ::testing::TestWithParam<Case> {};

TEST_P(EveryOrder, KeepsMessagesInOrder) {
  size_t choices = 0;
  EXPECT_GT(explore(GetParam(), [&](const Path&) { ++choices; }), 0u);
  RecordProperty("choices", static_cast<int>(choices));
}

INSTANTIATE_TEST_SUITE_P(Small, EveryOrder, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return format("Case%zu", one.index); });

/// Long programs of several ranks that send to all and move often.
TEST(Forwarding, RandomOrdersOfLongPrograms) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    Case c{"random", 2 + static_cast<uint32_t>(random() % 3), {}};
    const auto ranks = 2 + static_cast<uint32_t>(random() % 3);
    for (uint32_t r = 0; r < ranks; ++r) {
      Program program{static_cast<uint32_t>(random() % c.processes), {}};
      uint32_t at = program.home;
      for (int i = 0; i < 60; ++i) {
        const auto process = static_cast<uint32_t>(random() % c.processes);
        if (random() % 5 == 0 && process != at)
          program.steps.push_back(move_to(at = process));
        else
          program.steps.push_back(send_to(static_cast<uint32_t>(random() % ranks)));
      }
      c.ranks.push_back(program);
    }
    Job job(c);
    std::string why;
    for (auto choices = job.choices(); !choices.empty(); choices = job.choices())
      ASSERT_TRUE(job.choose(choices[random() % choices.size()], &why))
          << "seed " << seed << ": " << why << "\n"
          << job.describe();
    ASSERT_TRUE(job.is_complete(&why)) << "seed " << seed << ": " << why << "\n" << job.describe();
  }
}

}  // namespace
}  // namespace fgmpi::pt2pt
