#include "coll/selector.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace fgmpi::coll {
namespace {

struct Override {
  Override(const char* n, const char* value) : name(n) {
    setenv(n, value, 1);
    forget_overrides();
  }
  ~Override() {
    unsetenv(name);
    forget_overrides();
  }
  const char* name;
};

TEST(Selector, EveryShapeHasAnAlgorithm) {
  for (uint32_t places : {2u, 3u, 4u, 8u, 9u, 64u, 100'000u})
    for (size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 16, size_t{1} << 22, size_t{1} << 40})
      for (int bits = 0; bits < 8; ++bits) {
        Shape shape{places, bytes, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
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
  Override o("FGMPI_COLL_ALLREDUCE", "ring");
  AllreduceFn run;
  ASSERT_TRUE(pick_allreduce({2, 8}, &run).ok());
  EXPECT_EQ(run, &allreduce_ring);
  ASSERT_TRUE(pick_allreduce({2, 8, false}, &run).ok());
  EXPECT_NE(run, &allreduce_ring) << "ring cannot keep the order";
}

TEST(Selector, AnUnknownNameIsRefusedWithThoseThereAre) {
  Override o("FGMPI_COLL_BCAST", "teleport");
  BcastFn run;
  Status status = pick_bcast({2, 8}, &run);
  EXPECT_EQ(status.error_class(), MPI_ERR_OTHER);
  for (const std::string& name : algorithm_names("BCAST"))
    EXPECT_NE(status.what().find(name), std::string::npos);
  EXPECT_NE(status.what().find("teleport"), std::string::npos);
}

TEST(Selector, NamesAreListedOnce) {
  EXPECT_EQ(algorithm_names("ALLTOALL"), (std::vector<std::string>{"linear", "bruck", "pairwise"}));
  EXPECT_TRUE(algorithm_names("NOTHING").empty());
}

}  // namespace
}  // namespace fgmpi::coll
