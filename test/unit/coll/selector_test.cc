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
  for (const settings::Record& r : settings::kRecords) {
    const std::string_view name = r.name, prefix = "FGMPI_COLL_";
    if (!name.starts_with(prefix) || r.type != settings::Type::kChoice) continue;
    ++seen;
    const auto choices = settings::choices(r);
    EXPECT_EQ(algorithm_names(std::string(name.substr(prefix.size()))),
              std::vector<std::string>(choices.begin(), choices.end()))
        << name;
  }
  EXPECT_EQ(seen, 10);
}

TEST(Selector, NamesAreListedOnce) {
  EXPECT_EQ(algorithm_names("ALLTOALL"),
            (std::vector<std::string>{"linear", "bruck", "pairwise", "multicast"}));
  EXPECT_TRUE(algorithm_names("NOTHING").empty());
}

}  // namespace
}  // namespace fgmpi::coll
