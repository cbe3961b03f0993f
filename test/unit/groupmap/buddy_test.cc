// Set algebra on decision diagrams while other code of the process uses BuDDy.
#include <bdd.h>
#include <gtest/gtest.h>

#include "groupmap/algebra.h"
#include "groups.h"

namespace fgmpi::groupmap {
namespace {

using testing::Random;
using testing::Ranks;

/// Where BuDDy cannot combine two diagrams, the groups are combined in another way.
TEST(Algebra, DiagramsThatCannotBeCombined) {
  Random random(13);
  const Ranks ranks_a = testing::random_subset(random, 400, 2000);
  const Ranks ranks_b = testing::random_subset(random, 700, 3000);
  std::vector<int32_t> common;
  for (int32_t rank : ranks_a)
    if (std::binary_search(ranks_b.begin(), ranks_b.end(), rank)) common.push_back(rank);
  MapRef a, b, out;
  ASSERT_TRUE(build_as(Encoding::bdd, ranks_a, &a).ok());
  ASSERT_TRUE(build_as(Encoding::bdd, ranks_b, &b).ok());
  ASSERT_GE(bdd_init(1000, 100), 0);  // the library finds it in use
  bdd_setvarnum(1);  // without variables, bdd_done() frees those of an earlier use again
  ASSERT_TRUE(combine(a, b, SetOperation::kIntersection, Strategy::hybrid(), &out).ok());
  EXPECT_EQ(out.expand(), common);
  ASSERT_TRUE(combine_sets(a, b, SetOperation::kUnion, Strategy::space(), &out).ok());
  EXPECT_EQ(static_cast<size_t>(out.size()), ranks_a.size() + ranks_b.size() - common.size());
  ASSERT_TRUE(combine(a, b, SetOperation::kDifference, Strategy::hybrid(), &out).ok());
  EXPECT_EQ(static_cast<size_t>(out.size()), ranks_a.size() - common.size());
  bdd_done();
}

}  // namespace
}  // namespace fgmpi::groupmap
