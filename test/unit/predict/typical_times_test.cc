// Typical times of segments: chance is left out, what differs by rank or by place is kept.
#include "predict/typical_times.h"

#include <gtest/gtest.h>

namespace fgmpi::predict {
namespace {

TEST(TypicalTimes, ChanceIsLeftOutAndRanksAreKept) {
  TypicalTimes times;
  for (int round = 0; round < 50; ++round)
    for (uint32_t rank = 0; rank < 4; ++rank)
      for (const uint64_t place : {100u, 200u}) {
        const int64_t work = 1'000 * (rank + 1) * static_cast<int64_t>(place);
        const int64_t disturbed = (round + static_cast<int>(rank)) % 4 == 0 ? work * 2 : work;
        const int64_t typical = times.typical_of(rank, place, place + 1, disturbed);
        if (round > 10) {
          EXPECT_EQ(typical, work) << "rank " << rank << ", place " << place;
        }
      }
}

TEST(TypicalTimes, ARankWithFewSegmentsHasThoseOfAll) {
  TypicalTimes times;
  for (uint32_t rank = 0; rank < 10; ++rank) EXPECT_EQ(times.typical_of(rank, 1, 2, 500), 500);
  EXPECT_EQ(times.typical_of(11, 1, 2, 900), 500);
}

TEST(TypicalTimes, DifferentWorkBetweenTheSamePlacesIsMeasured) {
  TypicalTimes times;
  for (int round = 0; round < 20; ++round)
    for (const int64_t level : {8'000, 1'000, 125, 1'000})
      EXPECT_EQ(times.typical_of(0, 1, 2, level), level);
}

TEST(TypicalTimes, LongOnesAreMeasured) {
  TypicalTimes times;
  for (int round = 0; round < 10; ++round)
    EXPECT_EQ(times.typical_of(0, 1, 2, int64_t{5'000'000'000} + round),
              int64_t{5'000'000'000} + round);
}

}  // namespace
}  // namespace fgmpi::predict
