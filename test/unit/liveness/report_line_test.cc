#include "liveness/report_line.h"

#include <gtest/gtest.h>

namespace fgmpi::liveness {
namespace {

TEST(ReportFilter, PassesTheFirstLossAlone) {
  ReportFilter filter;
  const std::string first = begin_of_loss("process 1 of the job (process id 7)") + "it has ended\n";
  EXPECT_EQ(first, "fgmpi: process 1 of the job (process id 7) is gone: it has ended\n");
  EXPECT_TRUE(filter.passes("fgmpi: warning: something else\n"));
  EXPECT_FALSE(filter.loss_reported());
  EXPECT_TRUE(filter.passes(first));
  EXPECT_TRUE(filter.loss_reported());
  EXPECT_FALSE(filter.passes(first));
  EXPECT_FALSE(filter.passes("[1] " + begin_of_loss("process 2 of the job") + "x\n")) << "labelled";
  EXPECT_TRUE(filter.passes("the program's own line\n"));
}

TEST(ReportFilter, PassesTheFirstFailedStartAlone) {
  ReportFilter filter;
  const std::string line(std::string(kFailedStart) + "no memory\n");
  EXPECT_TRUE(filter.passes(line));
  EXPECT_FALSE(filter.passes(line));
  EXPECT_TRUE(filter.passes(begin_of_loss("process 1 of the job") + "x\n")) << "another kind";
}

TEST(ReportFilter, PassesTheFirstRefusedSettingAlone) {
  ReportFilter filter;
  const char* line = "fgmpi: FGMPI_TRANSPORT=nonesuch: allowed is a list\n";
  EXPECT_TRUE(filter.passes("fgmpi: FGMPI_TRANSPORT is not needed here\n"));
  EXPECT_TRUE(filter.passes(line));
  EXPECT_FALSE(filter.passes(line));
}

TEST(ReportFilter, TakesLinesOfTheProgramForWhatTheyAre) {
  ReportFilter filter;
  for (int i = 0; i < 2; ++i)
    for (const char* line : {"", "\n", "fgmpi: process ", " is gone: fgmpi: process ",
                             "fgmpi: process 1 of the job is here\n", "this is gone: too\n"})
      EXPECT_TRUE(filter.passes(line)) << line;
  EXPECT_FALSE(filter.loss_reported());
}

}  // namespace
}  // namespace fgmpi::liveness
