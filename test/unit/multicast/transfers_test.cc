// Tests the reliable multicast over a simulated network: the data of every receive is compared with
// the data that its root has sent.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "multicast/sockets.h"
#include "simulated_network.h"

namespace fgmpi::multicast {
namespace {

using testing::Broadcast;
using testing::content;
using testing::Faults;
using testing::kMs;
using testing::Network;
using TransferOutcome = TransferCompletion::TransferOutcome;

TEST(MulticastTree, EveryMemberHasOneParent) {
  for (uint32_t n : {1u, 2u, 5u, 16u, 29u, 100u}) {
    for (uint32_t degree : {0u, 1u, 2u, 4u}) {
      for (uint32_t root : {0u, n / 2, n - 1}) {
        const AckTree tree(n, degree, root);
        std::vector<int> seen(n, 0);
        tree.for_each_below(root, [&](uint32_t m) { ++seen[m]; });
        for (uint32_t m = 0; m < n; ++m) EXPECT_EQ(seen[m], 1);
        for (uint32_t m = 0; m < n; ++m) {
          uint32_t below = 0;
          tree.for_each_below(m, [&](uint32_t) { ++below; });
          uint32_t of_children = 1;
          tree.for_each_child(m, [&](uint32_t c) {
            EXPECT_TRUE(tree.is_child(m, c));
            EXPECT_EQ(tree.parent(c), m);
            tree.for_each_below(c, [&](uint32_t) { ++of_children; });
          });
          EXPECT_EQ(below, of_children);
          EXPECT_TRUE(degree != 0 || m == root || tree.parent(m) == root);
        }
      }
    }
  }
}

TEST(Multicast, PerfectNetworkSendsEachPacketOnce) {
  for (uint32_t members : {2u, 4u, 16u, 100u}) {
    for (size_t bytes :
         {size_t{0}, size_t{1}, size_t{1400}, size_t{1401}, size_t{65'536}, size_t{200'000}}) {
      Network network(members, {}, {}, members);
      Broadcast b(&network, 1, {5, 6, 7, 8}, bytes, bytes);
      for (uint32_t m = 0; m < members; ++m) b.enter(m);
      ASSERT_TRUE(network.run(60 * kSecond, [&] { return b.done(); }));
      b.check();
      const TransferCounts& c = network.at(1).counts();
      EXPECT_EQ(c.data, bytes == 0 ? 1 : (bytes + 1399) / 1400);
      EXPECT_EQ(c.repairs, 0u);
      ASSERT_TRUE(network.run(network.now() + 10 * kSecond, [&] { return network.at(1).quiet(); }));
      EXPECT_TRUE(network.at(1).delivered());
    }
  }
}

TEST(Multicast, AcknowledgementsThatNothingWaitsForMayLeaveLater) {
  struct Case {
    int broadcasts;
    size_t bytes;
    bool all_later, none_later;
  };
  // The window is 32 packets at first. Up to half of it may be in flight before a sender waits.
  for (const Case& c : {Case{5, 3 * 1400, true, false}, Case{11, 3 * 1400, false, false},
                        Case{1, 16 * 1400, true, false}, Case{1, 17 * 1400, false, true},
                        Case{1, 100'000, false, true}}) {
    for (const bool posted_first : {true, false}) {
      Network network(4, {}, {0, 0, 50'000, 50'000}, 5);
      std::vector<std::unique_ptr<Broadcast>> all;
      for (int i = 0; i < c.broadcasts; ++i)
        all.push_back(std::make_unique<Broadcast>(&network, 0, Match{1, i, 1, 0}, c.bytes, 3));
      auto enter = [&](uint32_t m) {
        for (auto& b : all) b->enter(m);
      };
      if (!posted_first) {
        enter(0);
        network.run(network.now() + 100'000, [] { return false; });
      }
      for (uint32_t m = 1; m < 4; ++m) enter(m);
      if (posted_first) enter(0);
      auto over = [&] {
        for (auto& b : all)
          if (!b->done()) return false;
        return network.at(0).quiet();
      };
      ASSERT_TRUE(network.run(10 * kSecond, over));
      for (auto& b : all) b->check();
      uint64_t acks = 0;
      for (uint32_t m = 1; m < 4; ++m) acks += network.at(m).counts().acks;
      if (c.all_later) {
        EXPECT_EQ(acks, (posted_first ? 3u : 6u) * static_cast<uint64_t>(c.broadcasts));
        EXPECT_EQ(network.later, acks);
      } else if (c.none_later) {
        EXPECT_EQ(network.later, 0u);
      } else {
        EXPECT_GT(network.later, 0u);
        EXPECT_LT(network.later, acks);
      }
      EXPECT_EQ(network.at(0).counts().polls, c.bytes > 64 << 10 ? 1u : 0u);
    }
  }
}

TEST(Multicast, LateAcknowledgementsDoNotShrinkTheWindow) {
  Network network(3, {}, {}, 5);
  Broadcast first(&network, 0, {1, 0, 1, 0}, 3 * 1400, 3);
  for (uint32_t m = 0; m < 3; ++m) first.enter(m);
  ASSERT_TRUE(network.run(network.now() + 90'000, [&] { return first.done(); }));
  // Both members have the data, and compute for a second before they acknowledge it.
  network.set_deaf(1, network.now() + kSecond);
  network.set_deaf(2, network.now() + kSecond);
  const size_t window = network.flow(0).window(1 << 30);
  ASSERT_TRUE(network.run(network.now() + 10 * kSecond, [&] { return network.at(0).quiet(); }));
  EXPECT_GT(network.at(0).counts().polls, 2u);
  EXPECT_EQ(network.flow(0).window(1 << 30), window);
}

TEST(MulticastOutbox, HoldsTheLatestAcknowledgementOfATransfer) {
  const char* why = nullptr;
  ASSERT_TRUE(load_tags(&why)) << why;
  Interface loopback;
  loopback.own.family = 4;
  loopback.own.address[0] = 127, loopback.own.address[3] = 1;
  Socket socket;
  MulticastAddress to = loopback.own;
  ASSERT_TRUE(open_own(loopback, 1, true, &socket, &to.port).ok());
  Outbox outbox(&socket);
  const GroupKey key{{1, 2, 3}};
  auto hold = [&](uint64_t serial, uint32_t position) {
    DatagramHeader h = header_of(DatagramKind::kAck, serial, 100, {}, 0);
    h.position = position;
    outbox.batch(socket_address(to, 0), h, key);
  };
  std::vector<std::pair<uint64_t, uint32_t>> got;
  auto receive_all = [&] {
    DatagramHeader h;
    while (recv(socket.fd(), &h, sizeof h, 0) == sizeof h) {
      EXPECT_EQ(tag_of_datagram(&h, sizeof h, key), h.tag);
      got.push_back({h.serial, h.position});
    }
  };
  hold(7, 1), hold(8, 1), hold(7, 2);
  outbox.flush();
  receive_all();
  EXPECT_TRUE(got.empty());
  EXPECT_TRUE(outbox.holds());
  outbox.release();
  outbox.flush();
  receive_all();
  EXPECT_EQ(got, (std::vector<std::pair<uint64_t, uint32_t>>{{7, 2}, {8, 1}}));
  EXPECT_FALSE(outbox.holds());
  // The outbox does not hold back the acknowledgements of very many transfers.
  got.clear();
  for (uint64_t serial = 1; serial <= 100; ++serial) hold(serial, 1);
  outbox.flush();
  receive_all();
  EXPECT_GT(got.size(), 50u);
}

TEST(Multicast, TheTreeKeepsAcknowledgementsFromTheRoot) {
  uint64_t got[2];
  for (uint32_t degree : {0u, 4u}) {
    TransferOptions options;
    options.degree = degree;
    Network network(64, options, {}, 3);
    Broadcast b(&network, 0, {1, 2, 3, 4}, 256 << 10, 9);
    for (uint32_t m = 0; m < 64; ++m) b.enter(m);
    ASSERT_TRUE(network.run(60 * kSecond, [&] { return b.done(); }));
    b.check();
    got[degree ? 1 : 0] = network.at(0).counts().acks_got;
  }
  // Without the tree 63 members acknowledge to the root. With it 4 children do, again whenever an
  // acknowledgement arrives from below them.
  EXPECT_GT(got[0], 2 * got[1]);
}

/// Every member is the root of some broadcasts, and enters all of them in an order of its own, over
/// a bad network.
void random_traffic(uint32_t members, const TransferOptions& options, const Faults& faults,
                    uint64_t seed, size_t most_bytes, int broadcasts) {
  std::mt19937_64 random(seed);
  Network network(members, options, faults, seed);
  std::vector<std::unique_ptr<Broadcast>> all;
  for (int i = 0; i < broadcasts; ++i) {
    const Match match{random() % 3, static_cast<int32_t>(i), 1, 0};
    all.push_back(std::make_unique<Broadcast>(&network, random() % members, match,
                                              random() % (most_bytes + 1), random()));
  }
  for (uint32_t m = 0; m < members; ++m) {
    std::vector<int> order(all.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random);
    int64_t at = network.now();
    for (int i : order) {
      at += static_cast<int64_t>(random() % (5 * kMs));
      network.at_time(at, [&all, i, m] { all[i]->enter(m); });
    }
  }
  auto done = [&] {
    for (const auto& b : all)
      if (!b->done()) return false;
    return true;
  };
  ASSERT_TRUE(network.run(3000 * kSecond, done)) << "members " << members << ", seed " << seed;
  for (const auto& b : all) b->check();
  // Afterwards all groups become quiet and have no timers.
  auto quiet = [&] {
    for (uint32_t m = 0; m < members; ++m)
      if (!network.at(m).quiet() || network.at(m).next_time() != kNever) return false;
    return true;
  };
  ASSERT_TRUE(network.run(network.now() + 300 * kSecond, quiet)) << "seed " << seed;
}

/// FGMPI_TEST_SEEDS=1000 runs more seeds.
TEST(Multicast, RandomTrafficOverBadNetworks) {
  const char* more = std::getenv("FGMPI_TEST_SEEDS");
  for (uint64_t seed = 1; seed <= (more ? std::strtoull(more, nullptr, 10) : 12); ++seed) {
    for (double loss : {0.0, 0.001, 0.01, 0.1, 0.3}) {
      TransferOptions options;
      options.degree = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 2 : 4;
      options.most_window = seed % 2 ? 64 : 16;
      options.bundle = seed % 4 < 2 ? 11 : 1;
      Faults faults{loss, 0.02, 20'000, seed % 4 == 0 ? 3 * kMs : 100'000};
      random_traffic(2 + seed % 7, options, faults, seed, seed % 2 ? 20'000 : 200'000, 12);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Multicast, SmallQuotaBlocksNothing) {
  TransferOptions options;
  options.eager_quota = 3 * 1400;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    random_traffic(4, options, {0.05, 0.01, 20'000, 500'000}, seed, 4'000, 60);
    if (HasFatalFailure()) return;
  }
}

TEST(Multicast, PacketsGoOutInBundlesWhereFewGetLost) {
  TransferOptions options;
  options.bundle = 10;
  Network network(4, options, {}, 5);
  auto bundles_of_next = [&](int number, size_t bytes) {
    const uint64_t before = network.at(0).counts().bundles;
    Broadcast b(&network, 0, {1, number, 1, 1, 0}, bytes, 2);
    for (uint32_t m = 0; m < 4; ++m) b.enter(m);
    EXPECT_TRUE(network.run(network.now() + 100 * kSecond, [&] { return b.done(); }));
    EXPECT_TRUE(
        network.run(network.now() + 100 * kSecond, [&] { return network.at(0).delivered(); }));
    b.check();
    return network.at(0).counts().bundles - before;
  };
  EXPECT_EQ(bundles_of_next(0, 1'400), 0u);
  EXPECT_EQ(bundles_of_next(1, 1'401), 1u);
  EXPECT_EQ(bundles_of_next(2, 140'000), 10u);
  network.set_faults({0.4, 0, 20'000, 100'000});
  EXPECT_LT(bundles_of_next(3, 1'000'000), 10u);  // other packets are sent one by one
  network.set_faults({});
  EXPECT_EQ(bundles_of_next(4, 140'000), 0u);
  for (int i = 5; i < 15; ++i) bundles_of_next(i, 140'000);
  EXPECT_EQ(bundles_of_next(15, 140'000), 10u);
}

TEST(Multicast, ALongTransferWaitsForReceives) {
  Network network(4, {}, {0.1, 0, 20'000, 100'000}, 5);
  Broadcast b(&network, 0, {1, 1, 1, 1}, 300'000, 2);
  for (uint32_t m = 0; m < 3; ++m) b.enter(m);
  EXPECT_FALSE(network.run(20 * kSecond, [&] { return b.done(); }));
  EXPECT_EQ(network.at(0).counts().data, 0u);
  // No data is on its way, so all groups are quiet: the detection of deadlocks could see that all
  // wait for member 3.
  EXPECT_TRUE(network.at(0).quiet());
  for (uint32_t m = 1; m < 3; ++m) EXPECT_TRUE(network.at(m).quiet()) << m;
  b.enter(3);
  EXPECT_FALSE(network.at(3).quiet());
  ASSERT_TRUE(network.run(60 * kSecond, [&] { return b.done(); }));
  b.check();
}

TEST(Multicast, AnEagerRootDoesNotWait) {
  Network network(4, {}, {}, 5);
  Broadcast b(&network, 0, {1, 1, 1, 1}, 60'000, 2);
  b.enter(0);
  EXPECT_EQ(b.ends[0].outcome, TransferOutcome::kDone);
  network.run(kSecond, [] { return false; });
  EXPECT_TRUE(network.at(0).delivered());
  for (uint32_t m = 1; m < 4; ++m) {
    b.enter(m);
    EXPECT_EQ(b.ends[m].outcome, TransferOutcome::kDone);
  }
  b.check();
}

TEST(Multicast, AReceiverThatIsAwayForSeconds) {
  Network network(5, {}, {0.01, 0, 20'000, 100'000}, 8);
  Broadcast b(&network, 2, {1, 1, 1, 1}, 2'000'000, 2);
  for (uint32_t m = 0; m < 5; ++m) b.enter(m);
  network.run(network.now() + 5 * kMs, [] { return false; });
  network.set_deaf(4, network.now() + 7 * kSecond);
  ASSERT_TRUE(network.run(100 * kSecond, [&] { return b.done(); }));
  b.check();
  EXPECT_GT(network.now(), 7 * kSecond);
  // Meanwhile the root has asked for acknowledgements instead of sending data.
  EXPECT_LT(network.at(2).counts().repairs, 600u);
}

TEST(Multicast, AMemberThatMulticastDoesNotReach) {
  Network network(5, {}, {0.01, 0, 20'000, 100'000}, 8);
  network.set_hears_all(3, false);
  network.at(3).set_joined(false);
  for (int i = 0; i < 3; ++i) {
    Broadcast b(&network, 1, {1, i, 1, 1}, 500'000, 2);
    for (uint32_t m = 0; m < 5; ++m) b.enter(m);
    ASSERT_TRUE(network.run(100 * kSecond, [&] { return b.done(); }));
    b.check();
  }
}

TEST(Multicast, MulticastThatReachesNobody) {
  Network network(5, {}, {0.05, 0, 20'000, 100'000}, 8);
  for (uint32_t m = 0; m < 5; ++m) network.set_hears_all(m, false);  // no member notices that
  Broadcast b(&network, 1, {1, 1, 1, 1}, 200'000, 2);
  for (uint32_t m = 0; m < 5; ++m) b.enter(m);
  ASSERT_TRUE(network.run(100 * kSecond, [&] { return b.done(); }));
  b.check();
}

TEST(Multicast, OneMissingIsSentToOneSeveralToAll) {
  Network network(4, {}, {}, 8);
  network.set_hears_all(3, false);  // member 3 does not report that
  Broadcast b(&network, 0, {1, 1, 1, 1}, 14'000, 2);
  for (uint32_t m = 0; m < 4; ++m) b.enter(m);
  ASSERT_TRUE(network.run(100 * kSecond, [&] { return b.done(); }));
  b.check();
  EXPECT_EQ(network.at(0).counts().repairs, 10u);
  EXPECT_EQ(network.at(0).counts().repairs_to_all, 0u);

  Network lossy(8, {}, {0.3, 0, 50'000, 50'000}, 9);
  Broadcast c(&lossy, 0, {1, 1, 1, 1}, 140'000, 2);
  for (uint32_t m = 0; m < 8; ++m) c.enter(m);
  ASSERT_TRUE(lossy.run(100 * kSecond, [&] { return c.done(); }));
  c.check();
  EXPECT_GT(lossy.at(0).counts().repairs_to_all, 20u);
}

TEST(Multicast, OtherLengthsAreReported) {
  for (size_t bytes : {size_t{100}, size_t{200'000}}) {
    Network network(3, {}, {0.1, 0, 20'000, 100'000}, 11);
    Broadcast b(&network, 0, {1, 1, 1, 1}, bytes, 2);
    b.got[2].resize(bytes + 1);
    for (uint32_t m = 0; m < 3; ++m) b.enter(m);
    ASSERT_TRUE(network.run(100 * kSecond, [&] { return b.done(); }));
    EXPECT_EQ(b.ends[2].outcome, TransferOutcome::kOtherLength);
    EXPECT_EQ(b.ends[2].bytes, bytes);
    EXPECT_EQ(b.ends[1].outcome, TransferOutcome::kDone);
    EXPECT_EQ(b.got[1], b.data);
  }
}

TEST(Multicast, OtherArgumentsAreReported) {
  for (const Match& other : {Match{1, 1, 9, 2, 0}, Match{1, 1, 1, 3, 0}, Match{1, 1, 1, 0, 0}}) {
    for (size_t bytes : {size_t{100}, size_t{200'000}}) {
      for (bool expects : {false, true}) {
        Network network(3, {}, {0.1, 0, 20'000, 100'000}, 12);
        Broadcast b(&network, 0, {1, 1, 1, 2, 0}, bytes, 2);
        b.enter(0);
        b.enter(1);
        TransferCompletion end;
        std::vector<char> got(bytes + 1);
        if (expects)
          network.at(2).expect(0, other, &end);
        else
          network.at(2).receive(0, other, got.data(), bytes, &end, network.now());
        ASSERT_TRUE(network.run(100 * kSecond, [&] {
          return end.outcome != TransferOutcome::kPending &&
                 (expects || b.ends[1].outcome != TransferOutcome::kPending);
        }));
        if (other.types != 0) {
          EXPECT_EQ(end.outcome, TransferOutcome::kOtherArguments);
          EXPECT_EQ(got, std::vector<char>(bytes + 1));
        } else {
          EXPECT_EQ(end.outcome, expects ? TransferOutcome::kAnnounced : TransferOutcome::kDone);
        }
        if (!expects) {
          EXPECT_EQ(b.got[1], b.data);
        }
      }
    }
  }
}

TEST(Multicast, LengthsCanBeAskedForFirst) {
  for (size_t bytes : {size_t{0}, size_t{900}, size_t{300'000}}) {
    for (bool early : {true, false}) {
      Network network(4, {}, {0.1, 0.1, 50'000, 400'000}, 21 + bytes);
      Broadcast b(&network, 2, {1, 1, 0, 1}, bytes, 5);
      std::vector<TransferCompletion> lengths(4);
      if (!early) {
        b.enter(2);
        network.run(20 * kMs, [] { return false; });
      }
      for (uint32_t m = 0; m < 4; ++m)
        if (m != 2) network.at(m).expect(2, b.match, &lengths[m]);
      if (early) b.enter(2);
      auto announced = [&] {
        for (uint32_t m = 0; m < 4; ++m)
          if (m != 2 && lengths[m].outcome != TransferOutcome::kAnnounced) return false;
        return true;
      };
      ASSERT_TRUE(network.run(100 * kSecond, announced));
      for (uint32_t m = 0; m < 4; ++m) {
        if (m == 2) continue;
        EXPECT_EQ(lengths[m].bytes, bytes);
        b.enter(m);
      }
      ASSERT_TRUE(network.run(200 * kSecond, [&] { return b.done(); }));
      b.check();
    }
  }
}

TEST(Multicast, MembersInDoubtGetItByUnicastUntilTheyAnswer) {
  Network network(5, {}, {}, 31);
  network.at(0).expect_joins();
  for (uint32_t m = 1; m < 5; ++m) network.set_hears_all(m, m % 2);
  Broadcast b(&network, 0, {1, 1, 0, 0}, 200'000, 6);
  for (uint32_t m = 0; m < 5; ++m) b.enter(m);
  ASSERT_TRUE(network.run(300 * kSecond, [&] { return b.done(); }));
  b.check();
}

TEST(Multicast, NothingIsSentBeforeAllHaveJoined) {
  Network network(4, {}, {}, 32);
  network.at(0).expect_joins();
  for (int i = 0; i < 3; ++i) {
    Broadcast b(&network, 0, {1, i, 0, 0}, 5'000, 6);
    for (uint32_t m = 0; m < 3; ++m) b.enter(m);
    network.run(network.now() + kSecond, [] { return false; });
    if (i == 0) {  // the transfer is announced: a member that has yet to receive is quiet
      EXPECT_EQ(b.ends[0].outcome, TransferOutcome::kPending);
      EXPECT_EQ(network.at(0).counts().data, 0u);
      for (uint32_t m = 0; m < 4; ++m) EXPECT_TRUE(network.at(m).quiet()) << m;
    } else {
      EXPECT_EQ(b.ends[1].outcome, TransferOutcome::kDone);
    }
    b.enter(3);
    ASSERT_TRUE(network.run(network.now() + 10 * kSecond, [&] { return b.done(); }));
    b.check();
  }
}

TEST(Multicast, MembersFarDownTheTreeAreNotInDoubtForEver) {
  TransferOptions options;
  options.degree = 2;
  constexpr uint32_t kMembers = 15, kPackets = 40;
  Network network(kMembers, options, {}, 33);
  network.at(4).expect_joins();
  uint64_t sent[2];
  for (int i = 0; i < 2; ++i) {
    const uint64_t before = network.sent;
    Broadcast b(&network, 4, {1, i, 0, 0}, kPackets * options.payload, 6);
    for (uint32_t m = 0; m < kMembers; ++m) b.enter(m);
    ASSERT_TRUE(network.run(network.now() + 300 * kSecond, [&] { return b.done(); }));
    b.check();
    sent[i] = network.sent - before;
  }
  // In the second broadcast each packet reaches each member once.
  EXPECT_LT(sent[1], kPackets * (kMembers - 1) * 3 / 2) << sent[0];
  // A member far below the root has left the address. Once the root has learned of that, it sends
  // to this member by unicast.
  network.set_hears_all(10, false);
  network.at(10).set_joined(false);
  for (int i = 2; i < 4; ++i) {
    Broadcast b(&network, 4, {1, i, 0, 0}, kPackets * options.payload, 6);
    for (uint32_t m = 0; m < kMembers; ++m) b.enter(m);
    const uint64_t repairs = network.at(4).counts().repairs;
    ASSERT_TRUE(network.run(network.now() + 300 * kSecond, [&] { return b.done(); }));
    b.check();
    if (i > 2) {
      EXPECT_EQ(network.at(4).counts().repairs, repairs);
    }
  }
}

TEST(Multicast, WhoHasPassedOnAllAcknowledgementsIsDone) {
  TransferOptions options;
  options.degree = 1;  // a chain: 0, 1, 2, 3
  Network network(4, options, {}, 34);
  Broadcast b(&network, 0, {1, 1, 0, 0}, 20'000, 6);
  for (uint32_t m : {0u, 1u, 2u}) b.enter(m);
  network.run(network.now() + kSecond, [] { return false; });
  // Member 3 has yet to receive: the members above it have their data, but not its acknowledgement.
  for (uint32_t m : {1u, 2u}) {
    EXPECT_EQ(b.ends[m].outcome, TransferOutcome::kDone);
    EXPECT_TRUE(network.at(m).quiet());
    EXPECT_FALSE(network.at(m).acknowledged());
  }
  b.enter(3);
  ASSERT_TRUE(
      network.run(network.now() + kSecond, [&] { return network.at(0).next_time() == kNever; }));
  for (uint32_t m = 0; m < 4; ++m) EXPECT_TRUE(network.at(m).acknowledged()) << m;
}

TEST(Multicast, GivingUpEndsEverythingOfACollective) {
  Network network(4, {}, {0.1, 0, 20'000, 100'000}, 12);
  Broadcast lost(&network, 0, {1, 5 << 7, 1, 1}, 200'000, 2),
      kept(&network, 0, {1, 6 << 7, 1, 1}, 200'000, 3);
  for (uint32_t m = 0; m < 3; ++m) lost.enter(m);
  for (uint32_t m = 0; m < 4; ++m) kept.enter(m);
  network.run(5 * kMs, [] { return false; });
  for (uint32_t m = 0; m < 4; ++m) network.at(m).give_up(1, 5 << 7, 127, network.now());
  for (uint32_t m = 0; m < 3; ++m) EXPECT_EQ(lost.ends[m].outcome, TransferOutcome::kGivenUp);
  ASSERT_TRUE(network.run(100 * kSecond, [&] { return kept.done(); }));
  kept.check();
  auto quiet = [&] {
    for (uint32_t m = 0; m < 4; ++m)
      if (!network.at(m).quiet() || network.at(m).next_time() != kNever) return false;
    return true;
  };
  ASSERT_TRUE(network.run(network.now() + 300 * kSecond, quiet));
}

/// Every member sends to all of its groups at once, several times, over ports of 100 Mbit/s with
/// queues of 256 KiB.
TEST(Multicast, ManyTransfersAtOnceShareTheWindow) {
  constexpr uint32_t kMembers = 8, kGroups = 4;
  for (uint32_t bundle : {1u, 11u}) {
    TransferOptions options;
    options.bundle = bundle;
    options.most_bundled_window = 110;
    Network network(kMembers, options, {0, 0, 20'000, 100'000, 12'500, 256 << 10}, 41, kGroups);
    std::vector<std::unique_ptr<Broadcast>> all;
    for (uint32_t g = 0; g < kGroups; ++g)
      for (uint32_t root = 0; root < kMembers; ++root)
        for (int i = 0; i < 3; ++i)
          all.push_back(
              std::make_unique<Broadcast>(&network, root, Match{1, i, 0, 0, 0}, 48'000, 7 + i, g));
    for (const auto& b : all)
      for (uint32_t m = 0; m < kMembers; ++m) b->enter(m);
    size_t most = 0;
    auto done = [&] {
      for (uint32_t m = 0; m < kMembers; ++m) most = std::max(most, network.flow(m).open());
      for (uint32_t g = 0; g < kGroups; ++g)
        for (uint32_t m = 0; m < kMembers; ++m)
          if (!network.at(m, g).delivered()) return false;
      return true;
    };
    ASSERT_TRUE(network.run(600 * kSecond, done));
    for (const auto& b : all) {
      ASSERT_TRUE(b->done());
      b->check();
    }
    uint64_t data = 0, repairs = 0;
    for (uint32_t g = 0; g < kGroups; ++g) {
      for (uint32_t m = 0; m < kMembers; ++m) {
        data += network.at(m, g).counts().data;
        repairs += network.at(m, g).counts().repairs;
      }
    }
    EXPECT_LE(most, std::max(options.most_window, options.most_bundled_window) * options.payload);
    EXPECT_GT(network.dropped, 0u);  // the ports were overloaded
    EXPECT_LT(2 * repairs, data) << network.dropped << " dropped";
    // A port's bytes take 0.32 s at its rate.
    EXPECT_LT(network.now(), kSecond) << bundle;
    for (uint32_t m = 0; m < kMembers; ++m) EXPECT_EQ(network.flow(m).open(), 0u);
  }
}

TEST(Multicast, AMemberThatIsAwayHoldsUpItsOwnGroupOnly) {
  Network network(4, {}, {}, 42, 2);
  network.set_deaf(3, 60 * kSecond);
  // Data that member 3 does not receive fills the window of group 0.
  Broadcast held(&network, 0, {1, 1, 0, 0}, 60'000, 1);
  Broadcast longer(&network, 0, {1, 2, 0, 0}, 60'000, 2);
  for (uint32_t m = 0; m < 4; ++m) held.enter(m), longer.enter(m);
  network.run(network.now() + kMs, [] { return false; });
  EXPECT_GT(network.flow(0).open(), 30'000u);
  // Data of group 1 still reaches the other members.
  Broadcast others(&network, 0, {1, 3, 0, 0}, 20'000, 3, 1);
  for (uint32_t m = 0; m < 3; ++m) others.enter(m);
  auto there = [&] {
    return others.ends[1].outcome == TransferOutcome::kDone &&
           others.ends[2].outcome == TransferOutcome::kDone;
  };
  ASSERT_TRUE(network.run(2 * kSecond, there));
  EXPECT_TRUE(others.got[1] == others.data && others.got[2] == others.data);
  EXPECT_FALSE(network.at(0).delivered());
  others.enter(3);
  ASSERT_TRUE(
      network.run(100 * kSecond, [&] { return held.done() && longer.done() && others.done(); }));
  held.check(), longer.check(), others.check();
}

/// Compares Macroflow with a naive model of the window, in packets, written from the papers of the
/// algorithm.
TEST(MulticastMacroflow, AddsAndHalvesAsTheModel) {
  constexpr size_t kPacket = 1000, kLimit = 1 << 20;
  struct Transfer final : Macroflow::FlowSender {
    explicit Transfer(Macroflow* f) : FlowSender(f) {}
    void begin_turn(int64_t now) override {
      turn = now;
      const size_t charge = flow().charge(*this) + kPacket;
      flow().set_charge(this, charge, charge);
    }
    int64_t turn = 0;
  };
  std::mt19937_64 random(43);
  Macroflow flow;
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (int i = 0; i < 20; ++i) transfers.push_back(std::make_unique<Transfer>(&flow));
  double window = 32, threshold = 1e18;
  uint64_t in_flight = 0;
  std::vector<Transfer*> queue;
  int64_t now = 1;
  flow.begin(kPacket, now);
  for (int step = 0; step < 100'000; ++step) {
    ++now;
    Transfer* one = transfers[random() % transfers.size()].get();
    const size_t charge = flow.charge(*one);
    switch (random() % 8) {
      case 0:
        if (random() % 40) break;
        flow.lost(kPacket, now);
        threshold = window = std::max(4.0, window / 2);
        break;
      case 1:
      case 2:
      case 3: {
        if (charge == 0) break;
        const size_t fresh = kPacket * (1 + random() % (charge / kPacket));
        const size_t before = flow.in_flight();
        flow.set_charge(one, charge - fresh, charge - fresh);
        const bool limits = !queue.empty() || 2.0 * static_cast<double>(in_flight) >= window;
        in_flight -= fresh / kPacket;
        flow.acknowledged(fresh, before, kPacket);
        if (!limits) break;
        const auto n = static_cast<double>(fresh / kPacket);
        window += window < threshold ? n : n / window;
        break;
      }
      default:
        flow.begin(kPacket, now);
        flow.wait(one, kPacket, kLimit);
        if (std::find(queue.begin(), queue.end(), one) == queue.end()) queue.push_back(one);
    }
    flow.serve(now);
    const double most = std::min(window, double{kLimit} / kPacket);
    while (!queue.empty() &&
           (in_flight == 0 || static_cast<double>(in_flight + 1) <= most + 1e-6)) {
      ASSERT_EQ(queue.front()->turn, now) << "not its turn at step " << step;
      queue.erase(queue.begin());
      ++in_flight;
    }
    for (Transfer* t : queue) ASSERT_TRUE(flow.waits(*t)) << step;
    ASSERT_EQ(flow.in_flight(), in_flight * kPacket) << step;
    ASSERT_NEAR(static_cast<double>(flow.window(kLimit)), most * kPacket, 2) << step;
  }
  EXPECT_GT(flow.reductions(), 100u);
  // After a second without packets in flight the measurements are dropped.
  for (auto& t : transfers) flow.stop_waiting(t.get()), flow.set_charge(t.get(), 0, 0);
  flow.begin(kPacket, now + 2 * kSecond);
  EXPECT_EQ(flow.window(kLimit), 32 * kPacket);
}

TEST(MulticastMacroflow, LossesOfManyMembersReduceAsOftenAsThoseOfOne) {
  RandomSequence random(44);
  Trouble trouble(16);
  auto reductions = [&](uint32_t members, int rounds) {
    int count = 0;
    for (int i = 0; i < rounds; ++i)
      for (uint32_t m = 0; m < members; ++m) count += trouble.reduces(m, &random);
    return count;
  };
  EXPECT_NEAR(reductions(16, 1000), 1000, 100);
  reductions(1, 300);  // the other transfers have lost no packet for long
  EXPECT_EQ(reductions(1, 100), 100);
}

TEST(Multicast, ImpossibleDatagramsAreRefused) {
  std::mt19937_64 random(4);
  Network network(3, {}, {}, 12);
  Broadcast b(&network, 0, {1, 1, 1, 1}, 50'000, 2);
  for (uint32_t m = 0; m < 2; ++m) b.enter(m);
  network.run(network.now() + kMs, [] { return false; });
  for (int i = 0; i < 200'000; ++i) {
    DatagramHeader h;
    h.group = random() % 8 ? Network::kId : random();
    // The serial is not that of the transfer under way: members trust datagrams with the key.
    h.serial = random() % 4 ? 1000 + random() % 50 : random() % 2 * random();
    h.floor = random() % 2;
    h.total = random() % 4 ? random() % 100'000 : random();
    h.position = static_cast<uint32_t>(random() % 2 ? random() % 100 : random());
    h.root = static_cast<uint16_t>(random() % 5);
    h.from = static_cast<uint16_t>(random() % 5);
    h.kind = static_cast<DatagramKind>(random() % 7);
    h.flags = static_cast<uint8_t>(random() % 64);
    std::string bytes(reinterpret_cast<const char*>(&h), sizeof h);
    bytes.append(random() % 200 * 8 % 1400, static_cast<char>(random()));
    DatagramHeader decoded;
    if (!decode(bytes.data(), bytes.size(), &decoded) || decoded.serial == 1) continue;
    network.at(i % 3).receive_datagram(decoded, bytes.data() + sizeof h, bytes.size() - sizeof h,
                                       network.now());
  }
  b.enter(2);
  ASSERT_TRUE(network.run(100 * kSecond, [&] { return b.done(); }));
  b.check();
}

TEST(MulticastTags, DependOnKeyAndBytes) {
  const char* why = "";
  ASSERT_TRUE(load_tags(&why)) << why;
  // The test vector of the paper that defines SipHash (Aumasson and Bernstein, appendix A): key 00
  // 01 .. 0f, message 00 .. 0e.
  GroupKey key;
  unsigned char message[15];
  for (int i = 0; i < 16; ++i) key.bytes[i] = static_cast<unsigned char>(i);
  for (int i = 0; i < 15; ++i) message[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(tag_of(message, 15, key), 0xa129ca6149be45e5u);
  ++key.bytes[3];
  EXPECT_NE(tag_of(message, 15, key), 0xa129ca6149be45e5u);
}

}  // namespace
}  // namespace fgmpi::multicast
