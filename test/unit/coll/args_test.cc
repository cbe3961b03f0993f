#include "coll/args.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "coll/move.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

CollectiveBuffer ints(std::vector<int>& data) {
  CollectiveBuffer side;
  EXPECT_TRUE(Type::of(MPI_INT, &side.type).ok());
  side.address = reinterpret_cast<char*>(data.data());
  return side;
}

TEST(CollectiveBuffer, SegmentsLieWhereTheFormSays) {
  std::vector<int> data(100);
  CollectiveBuffer regular = ints(data);
  regular.count = 5;
  EXPECT_EQ(regular.segment(3).address, regular.address + 60);
  EXPECT_EQ(regular.segment(3).count, 5);
  regular.strided = false;
  EXPECT_EQ(regular.segment(3).address, regular.address);

  int counts[] = {2, 0, 7}, displs[] = {10, 3, -4};
  CollectiveBuffer v = ints(data);
  v.counts = counts;
  v.displs = displs;
  EXPECT_EQ(v.segment(2).address, v.address - 16);
  EXPECT_EQ(v.segment(2).count, 7);
  CollectiveBuffer w = ints(data);
  w.counts = counts;
  w.displs = displs;
  w.types.reset(new Types);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(w.types
                    ->add(i < 2 ? MPI_BYTE : MPI_INT,
                          [&](Type* type) { return i < 2 ? Status() : Type::of(MPI_INT, type); })
                    .ok());
  w.types->finish();
  EXPECT_EQ(w.segment(2).bytes(), 28);
  EXPECT_EQ(w.segment(0).address, w.address + 10);
  EXPECT_EQ(w.segment(0).bytes(), 2);

  MPI_Count wide[] = {int64_t{1} << 40}, far[] = {int64_t{1} << 41};
  CollectiveBuffer large = ints(data);
  large.counts = wide;
  large.displs = far;
  EXPECT_EQ(large.segment(0).count, int64_t{1} << 40);
  EXPECT_EQ(large.segment(0).address - large.address, int64_t{1} << 43);
}

TEST(Parts, OffsetsArePrefixSums) {
  std::vector<int> data(10);
  int counts[] = {3, 0, 4}, displs[] = {5, 0, 0};
  CollectiveBuffer v = ints(data);
  v.counts = counts;
  v.displs = displs;
  Parts parts(v, 3);
  EXPECT_EQ(parts.offset(0), 0u);
  EXPECT_EQ(parts.offset(2), 12u);
  EXPECT_EQ(parts.size(1), 0u);
  EXPECT_EQ(parts.total(), 28u);
  CollectiveBuffer regular = ints(data);
  regular.count = 2;
  EXPECT_EQ(Parts(regular, 5).total(), 40u);
}

TEST(InPlace, TheCopyHasTheOldData) {
  std::vector<int> data(12);
  std::iota(data.begin(), data.end(), 0);
  int counts[] = {2, 3, 1}, displs[] = {9, 0, 5};
  Args args;
  args.recv = ints(data);
  args.recv.counts = counts;
  args.recv.displs = displs;
  ASSERT_TRUE(copy_in_place(&args, 3).ok());
  std::fill(data.begin(), data.end(), -1);
  for (int s = 0; s < 3; ++s) {
    Segment segment = args.send.segment(s);
    ASSERT_EQ(segment.bytes(), 4 * counts[s]);
    for (int i = 0; i < counts[s]; ++i)
      EXPECT_EQ(reinterpret_cast<int*>(segment.address)[i], displs[s] + i);
  }
}

TEST(Move, AnotherLengthThanTheRoomIsAnError) {
  std::vector<int> a(4), b(4);
  CollectiveBuffer from = ints(a), to = ints(b);
  from.count = 4;
  to.count = 3;
  EXPECT_EQ(copy(from.whole(), to.whole()).error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(unpack(from.address, 16, to.whole()).error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(copy(to.whole(), from.whole()).error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(unpack(from.address, 8, to.whole()).error_class(), MPI_ERR_TRUNCATE);
  to.count = 4;
  EXPECT_TRUE(copy(to.whole(), from.whole()).ok());
}

TEST(Move, OneToManyIncludingItself) {
  std::vector<char> source(100'003);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 31);
  std::vector<std::vector<char>> copies(5, std::vector<char>(source.size()));
  std::vector<char*> to{source.data()};
  for (auto& c : copies) to.push_back(c.data());
  copy_to_many(source.data(), source.size(), to.data(), to.size());
  for (auto& c : copies) EXPECT_EQ(c, source);
}

TEST(InRankOrder, WhateverTheOrderOfArrival) {
  std::mt19937 random(1);
  for (int stride : {1, 3}) {
    std::vector<Args> args(20);
    std::vector<int> order(20);
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < 20; ++round) {
      if (round == 1) std::reverse(order.begin(), order.end());
      if (round > 1) std::shuffle(order.begin(), order.end(), random);
      comm::Meeting meeting;
      for (size_t i = 0; i < order.size(); ++i) {
        args[i].rank = 7 + stride * order[i];
        args[i].next = i + 1 < order.size() ? &args[i + 1] : nullptr;
      }
      meeting.arrivals = &args[0];
      meeting.arrived = 20;
      std::vector<Args*> sorted = in_rank_order(&meeting);
      ASSERT_EQ(sorted.size(), 20u);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(sorted[static_cast<size_t>(i)]->rank, 7 + stride * i);
      CollectiveStep step{nullptr, &meeting, sorted};
      EXPECT_EQ(step.member(7 + stride * 11), sorted[11]);
      EXPECT_EQ(step.member(6), nullptr);
      EXPECT_EQ(step.member(7 + stride * 20), nullptr);
      EXPECT_EQ(step.member(9), stride == 1 ? sorted[2] : nullptr);
    }
  }
}

}  // namespace
}  // namespace fgmpi::coll
