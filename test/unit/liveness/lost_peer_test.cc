#include "liveness/lost_peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ch4-av-rankmap/av.h"

namespace fgmpi::liveness {
namespace {

Card card_on(const std::string& host, int pid) {
  Card card;
  card.pid = pid;
  card.host_id = host;
  card.host_name = "name-of-" + host;
  return card;
}

TEST(WatchRing, EachIsWatchedByTheOneThatWatchesIt) {
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const uint32_t processes = 1 + static_cast<uint32_t>(random() % 12);
    const uint32_t hosts = 1 + static_cast<uint32_t>(random() % 4);
    std::vector<Card> cards;
    for (uint32_t p = 0; p < processes; ++p)
      cards.push_back(card_on(std::string(1, static_cast<char>('a' + random() % hosts)),
                              1000 + static_cast<int>(p)));
    for (uint32_t me = 0; me < processes; ++me) {
      WatchRing ring(cards[me], me, processes);
      std::vector<uint32_t> order(processes);
      for (uint32_t p = 0; p < processes; ++p) order[p] = p;
      for (int round = 0; round < 2; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (uint32_t p : order) ring.add(p, cards[p]);
      }
      // The model searches the ring of all processes until it finds one of this host.
      uint32_t next = me, before = me;
      do next = (next + 1) % processes;
      while (cards[next].host_id != cards[me].host_id);
      do before = (before + processes - 1) % processes;
      while (cards[before].host_id != cards[me].host_id);
      ASSERT_EQ(ring.is_alone(), next == me);
      if (next == me) continue;
      ASSERT_EQ(ring.next(), next) << "of process " << me << " of " << processes;
      ASSERT_EQ(ring.watcher(), before) << "of process " << me << " of " << processes;
    }
  }
}

TEST(DescribeProcess, NamesProcessIdHostAndRanks) {
  g_av.init({0, 1, 4}, 0);
  EXPECT_EQ(describe_process(0, card_on("a", 17)),
            "process 0 of the job (process id 17 on host name-of-a, world rank 0)");
  EXPECT_EQ(describe_process(1, card_on("b", 18)),
            "process 1 of the job (process id 18 on host name-of-b, world ranks 1 to 3)");
}

}  // namespace
}  // namespace fgmpi::liveness
