// Fair shares of flows: closed forms, and random flows beside a naive model that fills all links
// anew at each change.
#include "predict/flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

namespace fgmpi::predict {
namespace {

/// All flows share all links anew, in small steps of one bottleneck each.
class NaiveShares {
 public:
  struct Flow {
    double left = 0, share = 0;
    std::vector<LinkUse> links;
  };
  std::map<int, Flow> flows;

  void share() {
    std::map<uint32_t, double> left;
    std::map<int, Flow*> growing;
    for (auto& [number, flow] : flows) {
      growing[number] = &flow;
      for (const LinkUse& u : flow.links) left[u.link] = 1;
    }
    while (!growing.empty()) {
      std::map<uint32_t, double> demand;
      for (auto& [number, flow] : growing)
        for (const LinkUse& u : flow->links) demand[u.link] += u.use;
      double level = 1;
      for (const auto& [link, wanted] : demand) level = std::min(level, left[link] / wanted);
      std::vector<int> fixed;
      for (auto& [number, flow] : growing) {
        const bool full = std::any_of(
            flow->links.begin(), flow->links.end(),
            [&](const LinkUse& u) { return left[u.link] / demand[u.link] <= level * (1 + 1e-9); });
        if (full || level >= 1) fixed.push_back(number);
      }
      for (const int number : fixed) {
        growing[number]->share = level;
        for (const LinkUse& u : growing[number]->links) left[u.link] -= level * u.use;
        growing.erase(number);
      }
    }
  }
};

std::vector<LinkUse> random_links(std::mt19937* dice, uint32_t links) {
  std::vector<LinkUse> uses;
  const auto wanted = 1 + (*dice)() % 4;
  while (uses.size() < wanted) {
    const auto link = static_cast<uint32_t>((*dice)() % links);
    const bool there =
        std::any_of(uses.begin(), uses.end(), [&](const LinkUse& u) { return u.link == link; });
    constexpr double kUses[] = {1, 1, 1, 0.5, 0.125, 3, 1.0 / 3};
    if (!there) uses.push_back({link, kUses[(*dice)() % 7]});
  }
  return uses;
}

/// Runs random flows in both. Their shares agree at each change, and so do the times of their ends.
void compare(uint32_t seed, uint32_t links) {
  std::mt19937 dice(seed);
  FlowShares flows(links);
  NaiveShares naive;
  std::vector<int> names(400);
  for (int i = 0; i < 400; ++i) names[static_cast<size_t>(i)] = i;
  std::map<int, uint32_t> numbers;
  VirtualTime now = 0;
  int begun = 0;
  while (begun < 400 || !naive.flows.empty()) {
    const bool idle = naive.flows.empty();
    VirtualTime next =
        begun < 400 ? now + (idle ? 1 : static_cast<VirtualTime>(dice() % 3000)) : kNever;
    if (!idle && flows.first() <= next) {
      next = flows.first();
      const double passed = static_cast<double>(next - now);
      for (auto& [number, flow] : naive.flows) flow.left -= passed * flow.share;
      const int name = *static_cast<int*>(flows.pop());
      ASSERT_NEAR(naive.flows[name].left, 0, 2 + 1e-6 * static_cast<double>(next))
          << "flow " << name;
      naive.flows.erase(name);
      numbers.erase(name);
    } else {
      const double passed = static_cast<double>(next - now);
      for (auto& [number, flow] : naive.flows) flow.left -= passed * flow.share;
      for (auto more = 1 + dice() % 3; more > 0 && begun < 400; --more, ++begun) {
        const auto work = static_cast<VirtualTime>(1000 + dice() % 20'000);
        const std::vector<LinkUse> uses = random_links(&dice, links);
        naive.flows[begun] = {static_cast<double>(work), 0, uses};
        numbers[begun] = flows.begin(next, work, uses, &names[static_cast<size_t>(begun)]);
      }
    }
    now = next;
    flows.share(now);
    naive.share();
    for (const auto& [name, flow] : naive.flows)
      ASSERT_NEAR(flows.share_of(numbers[name]), flow.share, 1e-6)
          << "seed " << seed << ", flow " << name;
  }
  EXPECT_EQ(flows.size(), 0u);
}

TEST(FlowShares, EqualOnesShareALinkEqually) {
  FlowShares flows(3);
  int a, b;
  flows.begin(0, 1000, {{0}, {1}}, &a);
  flows.share(0);
  EXPECT_EQ(flows.first(), 1000);
  flows.begin(400, 1000, {{0}, {2}}, &b);
  flows.share(400);
  EXPECT_EQ(flows.first(), 1600);  // 600 left at one half
  EXPECT_EQ(flows.pop(), &a);
  flows.share(1600);
  EXPECT_EQ(flows.first(), 2000);  // 400 left alone
  EXPECT_EQ(flows.pop(), &b);
  flows.share(2000);
  EXPECT_EQ(flows.first(), kNever);
}

TEST(FlowShares, AFlowBoundElsewhereLeavesTheRestToOthers) {
  FlowShares flows(2);
  int thin, wide;
  const uint32_t t = flows.begin(0, 1000, {{0, 1}, {1, 4}}, &thin);
  const uint32_t w = flows.begin(0, 1000, {{0, 1}}, &wide);
  flows.share(0);
  EXPECT_DOUBLE_EQ(flows.share_of(t), 0.25);
  EXPECT_DOUBLE_EQ(flows.share_of(w), 0.75);
}

TEST(FlowShares, EndsAtTheSameTimeComeInTheOrderOfBeginnings) {
  FlowShares flows(1);
  int owners[50];
  for (int& owner : owners) flows.begin(0, 100, {{0}}, &owner);
  flows.share(0);
  for (int& owner : owners) {
    EXPECT_EQ(flows.first(), 5000);
    EXPECT_EQ(flows.pop(), &owner);
  }
}

TEST(FlowShares, RandomFlowsAsTheNaiveModel) {
  for (uint32_t seed = 1; seed <= 4; ++seed)
    for (const uint32_t links : {5u, 20u, 100u}) {
      compare(seed, links);
      if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace fgmpi::predict
