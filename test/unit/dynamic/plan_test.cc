// Tests of the plan that a spawn makes of its commands.
#include <gtest/gtest.h>
#include <mpi.h>

#include <random>
#include <set>

#include "dynamic/spawn.h"

namespace fgmpi::dynamic {
namespace {

TEST(Plan, SoftAgainstAListOfNumbers) {
  std::mt19937 random(11);
  for (int k = 0; k < 2000; ++k) {
    std::set<int64_t> numbers;
    std::string text;
    for (size_t words = 1 + random() % 3; words > 0; --words) {
      const int first = static_cast<int>(random() % 30), last = static_cast<int>(random() % 30);
      const int stride = static_cast<int>(random() % 9) - 4;
      text += (text.empty() ? "" : ",") + std::to_string(first);
      if (random() % 3 == 0 || stride == 0) {
        numbers.insert(first);
        continue;
      }
      text += ":" + std::to_string(last) + ":" + std::to_string(stride);
      for (int n = first; stride > 0 ? n <= last : n >= last; n += stride) numbers.insert(n);
    }
    const int64_t most = static_cast<int64_t>(random() % 32);
    int64_t expected = 0, got = -1;
    for (int64_t n : numbers)
      if (n <= most) expected = n;
    ASSERT_TRUE(pick_soft(text, most, &got).ok()) << text;
    EXPECT_EQ(got, expected) << text << " at most " << most;
  }
  for (const char* bad : {"x", "1:", ":2", "1:2:0", "1:2:3:4", "-1", "1:-2", "1;2"}) {
    int64_t number;
    EXPECT_EQ(pick_soft(bad, 9, &number).error_class(), MPI_ERR_INFO_VALUE) << bad;
  }
}

TEST(Plan, RanksAndProcesses) {
  LauncherSection s;
  ASSERT_TRUE(plan({"/bin/true", {"a"}, 10, {{"nfg", "4"}, {"unknown", "x"}}}, &s).ok());
  EXPECT_EQ(s.ranks, 10);
  EXPECT_EQ(s.processes, 3);
  s = {};
  ASSERT_TRUE(plan({"true", {}, 3, {{"path", "/nowhere:/bin"}, {"env", "A=b\nC=d=e"}}}, &s).ok());
  EXPECT_EQ(s.processes, 3);
  ASSERT_EQ(s.environment.size(), 2u);
  EXPECT_EQ(s.environment[1].second, "d=e");
}

TEST(Plan, WhatCannotBe) {
  auto class_of = [](const Command& command) {
    LauncherSection s;
    return plan(command, &s).error_class();
  };
  EXPECT_EQ(class_of({"/bin/true", {}, 0, {}}), MPI_ERR_SPAWN);
  EXPECT_EQ(class_of({"/bin/no-such-program", {}, 1, {}}), MPI_ERR_SPAWN);
  EXPECT_EQ(class_of({"true", {}, 1, {{"path", "/nowhere"}}}), MPI_ERR_SPAWN);
  EXPECT_EQ(class_of({"/bin/true", {}, 1, {{"nfg", "0"}}}), MPI_ERR_INFO_VALUE);
  EXPECT_EQ(class_of({"/bin/true", {}, 1, {{"env", "=x"}}}), MPI_ERR_INFO_VALUE);
  EXPECT_EQ(class_of({"/bin/true", {}, 1, {{"wdir", "/bin/true"}}}), MPI_ERR_INFO_VALUE);
  EXPECT_EQ(class_of({"/bin/true", {}, 1, {{"mpi_initial_errhandler", "none"}}}),
            MPI_ERR_INFO_VALUE);
  EXPECT_EQ(class_of({"/no/such", {}, 1, {{"host", "elsewhere"}}}), 0);  // checked on that host
}

}  // namespace
}  // namespace fgmpi::dynamic
