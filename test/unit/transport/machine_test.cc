// The machine's objects, as hwloc or the kernel's files describe them.
#include "transport/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

namespace fgmpi::transport {
namespace {

TEST(Machine, KnowsWhereThisProcessMayRun) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const ProcessingUnits own = own_processing_units();
  ASSERT_EQ(own.size(), static_cast<size_t>(CPU_COUNT(&before)));
  for (int unit : own) EXPECT_TRUE(CPU_ISSET(unit, &before)) << unit;
  CPU_ZERO(&one);
  CPU_SET(own.back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(own_processing_units(), ProcessingUnits{own.back()});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_TRUE(std::includes(all_processing_units().begin(), all_processing_units().end(),
                            own.begin(), own.end()));
}

TEST(Machine, HasNoUnitInTwoObjectsOfAKind) {
  for (const char* kind : {"Machine", "Package", "NUMANode", "L3Cache", "L2Cache", "Core", "PU"}) {
    const auto objects = objects_of_machine(kind);
    if (!objects) continue;  // a virtual machine may hide its caches
    ProcessingUnits all;
    for (const ProcessingUnits& units : *objects) {
      EXPECT_TRUE(std::is_sorted(units.begin(), units.end())) << kind;
      all.insert(all.end(), units.begin(), units.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << kind;
    EXPECT_TRUE(std::includes(all_processing_units().begin(), all_processing_units().end(),
                              all.begin(), all.end()))
        << kind;
  }
  ASSERT_TRUE(objects_of_machine("PU"));
  EXPECT_EQ(objects_of_machine("PU")->size(), all_processing_units().size());
  EXPECT_EQ(objects_of_machine("pu")->size(), all_processing_units().size());
}

TEST(Machine, KnowsNoOtherKinds) {
  for (const char* kind : {"", "P", "Pack", "nonsense", "L9Cache"})
    EXPECT_FALSE(objects_of_machine(kind));
}

}  // namespace
}  // namespace fgmpi::transport
