#include "coll/selector.h"

#include <gtest/gtest.h>

#include <set>

#include "../setting.h"

namespace fgmpi::coll {
namespace {

using test::Setting;

TEST(Selector, EveryShapeHasAnAlgorithm) {
  for (uint32_t processes : {2u, 3u, 4u, 8u, 9u, 64u, 100'000u})
    for (size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 16, size_t{1} << 22, size_t{1} << 40})
      for (int bits = 0; bits < 8; ++bits) {
        CollectiveShape shape{processes, bytes, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        algorithm_type::bcast* bcast;
        algorithm_type::reduce* reduce;
        algorithm_type::allreduce* allreduce;
        algorithm_type::gather* gather;
        algorithm_type::alltoall* alltoall;
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
  algorithm_type::allreduce* run;
  ASSERT_TRUE(pick_allreduce({2, 8}, &run).ok());
  EXPECT_EQ(run, &allreduce_ring);
  ASSERT_TRUE(pick_allreduce({2, 8, false}, &run).ok());
  EXPECT_NE(run, &allreduce_ring) << "ring cannot keep the order";
}

/// Expects that a setting takes an algorithm by messages, for a shape that all can be used for.
template <class Function>
void expect_named(const std::string& setting, const char* name, Function* algorithm,
                  Status (*pick)(const CollectiveShape&, Function**)) {
  const Setting named(setting.c_str(), name);
  for (size_t bytes : {size_t{8}, size_t{1} << 30}) {
    Function* run = nullptr;
    ASSERT_TRUE(pick({5, bytes}, &run).ok());
    EXPECT_EQ(run, algorithm) << setting << "=" << name;
  }
}

TEST(Selector, ASettingNamesEachAlgorithmByMessages) {
  std::string setting;
#define EXPECT_kMessages(collective, algorithm)                                           \
  expect_named<algorithm_type::collective>(setting, #algorithm, collective##_##algorithm, \
                                           pick_##collective)
#define EXPECT_kMulticast(...)
#define EXPECT_kBoard(...)
#define EXPECT_kTree(...)
#define FGMPI_COLLECTIVE(collective, Collective, NAME, phrase) setting = "FGMPI_COLL_" NAME;
#define FGMPI_ALGORITHM(collective, algorithm, way, ...) EXPECT_##way(collective, algorithm);
#include "base/algorithms.def"
}

TEST(Selector, TheSettingsNameTheAlgorithmsThatAreChosen) {
  int seen = 0;
  for (const settings::SettingRecord& r : settings::kRecords) {
    if (!std::string_view(r.name).starts_with("FGMPI_COLL_") ||
        r.type != settings::SettingType::kChoice)
      continue;
    ++seen;
    const auto choices = settings::choices(r);
    const std::set<std::string_view> names(choices.begin(), choices.end());
    EXPECT_EQ(names.size(), choices.size()) << r.name << " names an algorithm twice";
    EXPECT_GE(names.size(), 2u) << r.name;
    EXPECT_FALSE(names.contains("group_tree")) << r.name << ": a tree's teams have no choice";
  }
  EXPECT_EQ(seen, 10);
  EXPECT_TRUE(std::string_view(settings::kRecords[settings::kCollAlltoall].choices)
                  .starts_with("linear|bruck|pairwise|multicast"));
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

}  // namespace
}  // namespace fgmpi::coll
