// Tests two jobs that have drawn the same address and port for a group: datagrams of each reach
// both.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../setting.h"
#include "base/clock.h"
#include "multicast/service.h"

namespace fgmpi::multicast {
namespace {

/// Memberships that have received datagrams of strangers.
std::vector<Membership*>& collided() {
  static std::vector<Membership*> all;
  return all;
}

/// A job of two processes, both of them in this one.
struct Job {
  explicit Job(uint64_t id) {
    for (auto& s : services) {
      s = std::make_unique<Service>();
      const Status started = s->start(true);
      why = started.ok() ? "" : started.what();
      if (!started.ok()) return;
      s->set_on_collision([](Membership* m) { collided().push_back(m); });
    }
    spec.id = id;
    for (size_t i = 0; i < sizeof spec.key; ++i)
      reinterpret_cast<unsigned char*>(&spec.key)[i] = static_cast<unsigned char>(id + i);
    spec.options.payload = 1400;
    for (auto& s : services) spec.members.push_back(s->own());
  }
  void join(const MulticastAddress& address) {
    spec.address = address;
    for (uint32_t i = 0; i < 2; ++i) {
      spec.me = i;
      ASSERT_TRUE(services[i]->join(spec, &members[i]).ok());
      ASSERT_TRUE(members[i]->socket) << "the group's address cannot be joined";
    }
  }
  void begin(int round) {
    sent.assign(20'000, static_cast<char>(spec.id * 16 + static_cast<uint64_t>(round)));
    got.assign(sent.size(), 0);
    const Match match{spec.id, round, 1, 0, 0};
    for (TransferCompletion& c : completions) c = {};
    services[1]->receive(members[1], 0, match, got.data(), got.size(), &completions[1]);
    services[0]->send(members[0], match, sent.data(), sent.size(), &completions[0]);
  }
  bool done() const {
    return completions[0].outcome == TransferCompletion::TransferOutcome::kDone &&
           completions[1].outcome == TransferCompletion::TransferOutcome::kDone &&
           members[0]->group.delivered();
  }
  uint64_t dropped() const { return services[0]->totals().dropped + services[1]->totals().dropped; }

  std::unique_ptr<Service> services[2];
  std::string why;
  GroupSpec spec;
  Membership* members[2] = {};
  TransferCompletion completions[2];
  std::vector<char> sent, got;
};

/// A transfer in each job at the same time, while `a` moves to `address` if that is given: the data
/// is right in both.
void transfer_in_both(Job* a, Job* b, int round, const MulticastAddress* address = nullptr) {
  a->begin(round);
  b->begin(round);
  for (uint32_t i = 0; address && i < 2; ++i) a->services[i]->move(a->members[i], *address);
  const int64_t limit = now_ns() + 20'000'000'000;
  while (!(a->done() && b->done()) && now_ns() < limit)
    for (Job* job : {a, b})
      for (auto& s : job->services) s->poll();
  ASSERT_TRUE(a->done() && b->done());
  EXPECT_EQ(a->got, a->sent);
  EXPECT_EQ(b->got, b->sent);
}

TEST(MulticastJobs, WithOneAddressMoveApart) {
  const test::Setting interface("FGMPI_OFI_INTERFACE", "lo");
  Job a(1), b(2);
  if (!a.why.empty() || !b.why.empty()) GTEST_SKIP() << a.why << b.why;
  const MulticastAddress address = draw_address(a.spec.members[0].family);
  a.join(address);
  b.join(address);
  collided().clear();
  for (int round = 0; round < 40; ++round) transfer_in_both(&a, &b, round);
  // Each job has received the other's datagrams, and dropped all of them.
  EXPECT_GT(a.dropped(), 0u);
  EXPECT_GT(b.dropped(), 0u);
  auto has = [&](Membership* m) {
    return std::find(collided().begin(), collided().end(), m) != collided().end();
  };
  ASSERT_TRUE(has(a.members[0]) || has(a.members[1]));
  ASSERT_TRUE(has(b.members[0]) || has(b.members[1]));
  // One of the jobs moves while transfers are under way. From then on the jobs have different
  // addresses.
  const MulticastAddress other = draw_address(address.family);
  transfer_in_both(&a, &b, 100, &other);
  for (int i = 0; i < 100; ++i)
    for (Job* job : {&a, &b})
      for (auto& s : job->services) s->poll();
  const uint64_t before = a.dropped() + b.dropped();
  for (int round = 102; round < 120; ++round) transfer_in_both(&a, &b, round);
  EXPECT_EQ(a.dropped() + b.dropped(), before);
}

}  // namespace
}  // namespace fgmpi::multicast
