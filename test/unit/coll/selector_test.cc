#include "coll/selector.h"

#include <gtest/gtest.h>

#include "../setting.h"

namespace fgmpi::coll {
namespace {

using test::Setting;

TEST(Selector, EveryShapeHasAnAlgorithm) {
  for (uint32_t processes : {2u, 3u, 4u, 8u, 9u, 64u, 100'000u})
    for (size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 16, size_t{1} << 22, size_t{1} << 40})
      for (int bits = 0; bits < 8; ++bits) {
        Shape shape{processes, bytes, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        BcastFn bcast;
        ReduceFn reduce;
        AllreduceFn allreduce;
        RootedFn gather;
        AlltoallFn alltoall;
        EXPECT_TRUE(pick_bcast(shape, &bcast).ok());
        EXPECT_TRUE(pick_reduce(shape, &reduce).ok());
        EXPECT_TRUE(pick_allreduce(shape, &allreduce).ok());
        EXPECT_TRUE(pick_gather(shape, &gather).ok());
        EXPECT_TRUE(pick_alltoall(shape, &alltoall).ok());
        if (!shape.commutative) {
          EXPECT_NE(allreduce, &allreduce_ring);
          EXPECT_NE(allreduce, &allreduce_rabenseifner);
          EXPECT_EQ(reduce, &reduce_binomial);
        }
        if (!shape.regular) {
          EXPECT_EQ(gather, &gather_linear);
          EXPECT_NE(alltoall, &alltoall_bruck);
        }
      }
}

TEST(Selector, AnOverrideIsTakenWhereItCanDoTheJob) {
  Setting ring("FGMPI_COLL_ALLREDUCE", "ring");
  AllreduceFn run;
  ASSERT_TRUE(pick_allreduce({2, 8}, &run).ok());
  EXPECT_EQ(run, &allreduce_ring);
  ASSERT_TRUE(pick_allreduce({2, 8, false}, &run).ok());
  EXPECT_NE(run, &allreduce_ring) << "ring cannot keep the order";
}

TEST(Selector, TheSettingsNameTheAlgorithmsThereAre) {
  int seen = 0;
  for (const settings::SettingRecord& r : settings::kRecords) {
    const std::string_view name = r.name, prefix = "FGMPI_COLL_";
    if (!name.starts_with(prefix) || r.type != settings::SettingType::kChoice) continue;
    ++seen;
    const auto choices = settings::choices(r);
    EXPECT_EQ(algorithm_names(std::string(name.substr(prefix.size()))),
              std::vector<std::string>(choices.begin(), choices.end()))
        << name;
  }
  EXPECT_EQ(seen, 10);
}

TEST(Selector, MulticastIsPickedWhereItWasFaster) {
  constexpr size_t KiB = 1024;
  const auto picks = [](settings::SettingId setting, uint32_t processes, size_t bytes) {
    return picks_multicast(setting, {processes, bytes});
  };
  for (uint32_t processes : {4u, 16u, 100'000u}) {
    EXPECT_FALSE(picks(settings::kCollBcast, processes, 4 * KiB - 1));
    EXPECT_TRUE(picks(settings::kCollBcast, processes, 4 * KiB));
    EXPECT_TRUE(picks(settings::kCollBcast, processes, size_t{1} << 40));
  }
  EXPECT_FALSE(picks(settings::kCollAllreduce, 8, 16 * KiB - 1));
  EXPECT_TRUE(picks(settings::kCollAllreduce, 8, 16 * KiB));
  EXPECT_TRUE(picks(settings::kCollAllreduce, 4, 1024 * KiB));
  EXPECT_FALSE(picks(settings::kCollAllreduce, 4, 1024 * KiB + 1));
  EXPECT_FALSE(picks(settings::kCollAllreduce, 9, 64 * KiB - 1));
  EXPECT_TRUE(picks(settings::kCollAllreduce, 16, 64 * KiB));
  EXPECT_FALSE(picks(settings::kCollAllreduce, 17, 64 * KiB));
  EXPECT_FALSE(picks_multicast(settings::kCollAllreduce, {8, 64 * KiB, false, true}));
  EXPECT_FALSE(picks_multicast(settings::kCollAllreduce, {8, 64 * KiB, true, false}));
  EXPECT_FALSE(picks(settings::kCollAllgather, 8, 32 * KiB - 1));
  EXPECT_TRUE(picks(settings::kCollAllgather, 16, 32 * KiB));
  EXPECT_FALSE(picks(settings::kCollAllgather, 16, 1024 * KiB + 1));
  EXPECT_FALSE(picks(settings::kCollAllgather, 17, 32 * KiB));
  for (size_t bytes : {8 * KiB, 64 * KiB, 1024 * KiB})
    for (settings::SettingId setting :
         {settings::kCollScatter, settings::kCollAlltoall, settings::kCollReduceScatter})
      EXPECT_FALSE(picks(setting, 8, bytes));
}

TEST(Selector, NamesAreListedOnce) {
  EXPECT_EQ(algorithm_names("ALLTOALL"),
            (std::vector<std::string>{"linear", "bruck", "pairwise", "multicast"}));
  EXPECT_TRUE(algorithm_names("NOTHING").empty());
}

}  // namespace
}  // namespace fgmpi::coll
