// Compares the address vector with a list of starts.
#include "ch4-av-rankmap/av.h"

#include <gtest/gtest.h>

#include <random>

namespace fgmpi {
namespace {

void compare(const std::vector<uint32_t>& starts, uint32_t me) {
  AddressVector av;
  av.init(starts, me);
  ASSERT_EQ(av.processes(), starts.size() - 1);
  ASSERT_EQ(av.world_size(), starts.back());
  EXPECT_EQ(av.my_first(), starts[me]);
  EXPECT_EQ(av.my_count(), starts[me + 1] - starts[me]);
  for (uint32_t p = 0, w = 0; p + 1 < starts.size(); ++p) {
    EXPECT_EQ(av.first(p), starts[p]);
    EXPECT_EQ(av.count(p), starts[p + 1] - starts[p]);
    for (; w < starts[p + 1]; ++w) {
      Location at = av.locate(w);
      ASSERT_EQ(at.process, p) << "world rank " << w;
      ASSERT_EQ(at.local, w - starts[p]);
      uint32_t local;
      EXPECT_EQ(av.is_mine(w, &local), p == me);
    }
  }
}

TEST(AddressVector, EqualAndUnequalProcesses) {
  compare({0, 1}, 0);
  compare({0, 1, 2, 3, 4}, 2);
  compare({0, 1000}, 0);
  compare({0, 7, 14, 21}, 1);
  compare({0, 3, 4, 10, 11}, 3);
}

TEST(AddressVector, RandomProcesses) {
  std::mt19937 random(3);
  for (int k = 0; k < 20; ++k) {
    std::vector<uint32_t> starts{0};
    uint32_t processes = 1 + random() % 40, same = random() % 2 ? 1 + random() % 300 : 0;
    for (uint32_t p = 0; p < processes; ++p)
      starts.push_back(starts.back() + (same ? same : 1 + random() % 300));
    compare(starts, random() % processes);
  }
}

TEST(AddressVector, DestinationsWhereRanksMove) {
  for (const std::vector<uint32_t>& starts :
       {std::vector<uint32_t>{0, 3, 6, 9}, std::vector<uint32_t>{0, 1, 6, 9}}) {
    AddressVector av;
    av.init(starts, 1);
    EXPECT_FALSE(av.ranks_move());
    EXPECT_EQ(av.direct_count(), av.my_count());
    uint32_t local;
    for (uint32_t w = 0; w < 9; ++w) {
      EXPECT_EQ(av.destination(w).process, av.locate(w).process);
      EXPECT_EQ(av.destination(w).local, av.locate(w).local);
      EXPECT_EQ(av.is_direct(w, &local), av.is_mine(w, &local));
      EXPECT_EQ(av.as_destination(av.locate(w)).process, av.locate(w).process);
    }
    av.let_ranks_move();
    const std::vector<uint32_t> other_job{2};
    const uint32_t other = av.add_range(other_job);
    EXPECT_TRUE(av.ranks_move());
    for (uint32_t w = 0; w < 9; ++w) {
      EXPECT_FALSE(av.is_direct(w, &local));
      EXPECT_EQ(av.destination(w).process, kByWorld);
      EXPECT_EQ(av.destination(w).local, w);
      EXPECT_TRUE(is_unresolved(av.destination(w).process));
      EXPECT_EQ(av.as_destination(av.locate(w)).local, w);
      EXPECT_EQ(av.global_of(kByWorld, w), w);
    }
    EXPECT_EQ(av.destination(10).process, other) << "ranks of other jobs stay";
    EXPECT_EQ(av.as_destination(av.locate(10)).process, other);
    av.moved().add_visitor(8, av.my_count() + 4);
    EXPECT_EQ(av.global_of_local(av.my_count() + 4), 8u);
    av.remove_range(other, 1);
    EXPECT_EQ(av.destination(2).process, kByWorld);
    EXPECT_EQ(av.locate(2).process, starts[1] == 3 ? 0u : 1u);
    av.init(starts, 1);
    EXPECT_FALSE(av.ranks_move());
    EXPECT_EQ(av.global_of_local(av.my_count() + 4), AddressVector::kNoRange);
  }
}

TEST(AddressVector, AddressAndTransportShareAWord) {
  AddressVector av;
  av.init({0, 2, 4}, 0);
  uint64_t most = (uint64_t{1} << 63) - 1;
  av.set_address(1, most, true);
  av.set_address(0, 17, false);
  EXPECT_EQ(av.address(1), most);
  EXPECT_TRUE(av.transport_bit(1));
  EXPECT_EQ(av.address(0), 17u);
  EXPECT_FALSE(av.transport_bit(0));
  EXPECT_EQ(av.first(1), 2u);
}

}  // namespace
}  // namespace fgmpi
