// Slurm's short form of names and counts.
#include "launcher/mpiexec/host_names.h"

#include <gtest/gtest.h>

namespace fgmpi::launcher {
namespace {

TEST(HostNames, AreExpanded) {
  const auto names = [](const char* text) {
    Words all;
    std::string joined;
    if (!expand_host_names(text, &all).ok()) return std::string("refused");
    for (const std::string& name : all) joined += name + " ";
    return joined;
  };
  EXPECT_EQ(names("a"), "a ");
  EXPECT_EQ(names("a,b-1"), "a b-1 ");
  EXPECT_EQ(names("n[08-11]x,m"), "n08x n09x n10x n11x m ");
  EXPECT_EQ(names("r[1-2]n[1,3]"), "r1n1 r1n3 r2n1 r2n3 ");
  for (const char* bad : {"n[1-2", "n[2-1]", "n[a]", "n[1-99999999]"})
    EXPECT_EQ(names(bad), "refused");
}

TEST(SlurmCounts, AreExpanded) {
  EXPECT_EQ(parse_slurm_counts("2(x3),1"), std::vector<int64_t>({2, 2, 2, 1}));
  EXPECT_EQ(parse_slurm_counts("16"), std::vector<int64_t>({16}));
  for (const char* bad : {"0", "-1", "2(x3", "2(3)", "a", "2(x0)", "2,,1", "2(x99999999)"})
    EXPECT_FALSE(parse_slurm_counts(bad)) << bad;
}

}  // namespace
}  // namespace fgmpi::launcher
