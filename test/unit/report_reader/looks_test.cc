#include <gtest/gtest.h>

#include "readers/report/run.h"

namespace fgmpi::report {
namespace {

std::string words(uint64_t samples, uint64_t looks) {
  report::JobRun run;
  run.processes.emplace_back();
  run.samples = samples;
  run.looks = looks;
  return words_of_looks(run);
}

TEST(Looks, FewOfThemAreSaid) {
  EXPECT_EQ(words(1, 1), "Looked at only 1 time: times are rough, and only counts can stand out.");
  EXPECT_EQ(words(29, 29), words(29, 0)) << "of the run, so those of a rank are not said";
  EXPECT_EQ(words(30, 29),
            "Each rank was looked at only 29 times: its own times are rough; those of all ranks, "
            "calls and processes are right.");
  EXPECT_EQ(words(30, 1).substr(0, 37), "Each rank was looked at only 1 time: ");
  EXPECT_EQ(words(30, 30), "");
  EXPECT_EQ(words_of_looks(report::JobRun()), "") << "nothing is known of a run that left no file";
}

}  // namespace
}  // namespace fgmpi::report
