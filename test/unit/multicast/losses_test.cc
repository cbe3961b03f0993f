// Tests how long the reliable multicast takes over a simulated network that loses packets of many
// members.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "simulated_network.h"

namespace fgmpi::multicast {
namespace {

using testing::Broadcast;
using testing::kMs;
using testing::Network;
using TransferOutcome = TransferCompletion::TransferOutcome;

TEST(Multicast, ManyMembersThatMissPacketsHaveThemSoon) {
  // Hardly any packet reaches all members at once: so no measurement of a round trip is complete.
  struct Case {
    size_t bytes;
    int64_t most;  // the most that a transfer takes on average, in simulated time
  };
  for (const Case& c : {Case{1'000, 12 * kMs}, Case{10'000, 25 * kMs}, Case{60'000, 55 * kMs}}) {
    constexpr int kSeeds = 20, kTransfers = 5;
    int64_t sum = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      TransferOptions options;
      options.bundle = 11;
      Network network(16, options, {0.1, 0, 100'000, 150'000}, seed);
      for (int i = 0; i < kTransfers; ++i) {
        Broadcast b(&network, 0, {1, i, 1, 0}, c.bytes, seed);
        const int64_t begin = network.now();
        for (uint32_t m = 0; m < 16; ++m) b.enter(m);
        ASSERT_TRUE(network.run(network.now() + 100 * kSecond, [&] { return b.done(); }));
        sum += network.now() - begin;
        b.check();
        network.run(network.now() + 100 * kSecond, [&] { return network.at(0).quiet(); });
      }
    }
    EXPECT_LT(sum / (kSeeds * kTransfers), c.most) << c.bytes << " bytes";
  }
}

/// Nearly every packet is lost at some member, for some round trips: the root sends others
/// meanwhile.
TEST(Multicast, LongTransfersGoOnWhilePacketsMiss) {
  constexpr int kSeeds = 10;
  for (uint32_t degree : {16u, 3u}) {
    int64_t sum = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      TransferOptions options;
      options.degree = degree;
      options.bundle = 11;
      options.most_bundled_window = 110;
      Network network(16, options, {0.1, 0, 100'000, 150'000}, seed);
      Broadcast b(&network, 0, {1, 1, 1, 0}, 1'000'000, seed);
      const int64_t begin = network.now();
      for (uint32_t m = 0; m < 16; ++m) b.enter(m);
      ASSERT_TRUE(network.run(network.now() + 100 * kSecond, [&] { return b.done(); }));
      sum += network.now() - begin;
      b.check();
    }
    EXPECT_LT(sum / kSeeds, 250 * kMs) << "degree " << degree;
  }
}

/// Every member sends to all, and receives from the others in their order, as an all-to-all does.
/// Long transfers wait until all receives are posted. Acknowledgements that announce a receive get
/// lost.
TEST(Multicast, ReceivesInOrderAreHeardOfSoon) {
  constexpr uint32_t kMembers = 16;
  constexpr int kSeeds = 10;
  int64_t sum = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Network network(kMembers, {}, {0.1, 0, 100'000, 150'000}, seed);
    std::vector<std::unique_ptr<Broadcast>> all;
    for (uint32_t root = 0; root < kMembers; ++root) {
      all.push_back(
          std::make_unique<Broadcast>(&network, root, Match{1, 1, 0, 0, 0}, 70'000, seed + root));
      all.back()->enter(root);
    }
    std::vector<uint32_t> taken(kMembers, 0);  // the number of transfers that each has received
    std::vector<bool> waits(kMembers, false);
    auto done = [&] {
      bool all_done = true;
      for (uint32_t m = 0; m < kMembers; ++m) {
        for (uint32_t& root = taken[m]; root < kMembers; ++root) {
          if (root == m) continue;
          if (!waits[m]) all[root]->enter(m), waits[m] = true;
          if (all[root]->ends[m].outcome == TransferOutcome::kPending) break;
          waits[m] = false;
        }
        all_done &= taken[m] == kMembers;
      }
      for (const auto& b : all) all_done &= b->done();
      return all_done;
    };
    const int64_t begin = network.now();
    ASSERT_TRUE(network.run(network.now() + 100 * kSecond, done));
    sum += network.now() - begin;
    for (const auto& b : all) b->check();
  }
  EXPECT_LT(sum / kSeeds, kSecond);
}

/// A receive that is posted late acknowledges its transfer again. If the first acknowledgement was
/// lost, the time until the second one is no round-trip time.
TEST(Multicast, LateReceivesAreNoRoundTrips) {
  for (uint32_t degree : {16u, 2u}) {
    TransferOptions options;
    options.degree = degree;
    Network network(8, options, {0.1, 0, 100'000, 150'000}, 45);
    for (int i = 0; i < 60; ++i) {
      Broadcast b(&network, 0, {1, i, 1, 0}, 1'000, 3);
      b.enter(0);
      for (uint32_t m = 1; m < 8; ++m) {
        network.run(network.now() + 4 * kMs, [] { return false; });
        b.enter(m);
      }
      ASSERT_TRUE(network.run(network.now() + 10 * kSecond, [&] { return b.done(); }));
      b.check();
      ASSERT_LT(network.flow(0).mean(), 2 * kMs) << "after transfer " << i;
    }
    EXPECT_GT(network.flow(0).mean(), 0);
  }
}

/// A transfer that all members have stored, but not yet received, delays no other transfer. So its
/// root seldom asks for acknowledgements.
TEST(Multicast, ReceivesThatAreMissingAreAskedForSeldom) {
  Network network(16, {}, {}, 46);
  Broadcast b(&network, 0, {1, 1, 1, 0}, 1'000, 3);
  b.enter(0);
  for (uint32_t m = 1; m < 16; ++m) {
    network.run(network.now() + 20 * kMs, [] { return false; });
    b.enter(m);
  }
  ASSERT_TRUE(network.run(network.now() + 10 * kSecond, [&] { return b.done(); }));
  b.check();
  EXPECT_LE(network.at(0).counts().polls, 3u);
}

}  // namespace
}  // namespace fgmpi::multicast
