#include "liveness/report_line.h"

#include <gtest/gtest.h>

namespace fgmpi::liveness {
namespace {

TEST(SignalOfLoss, IsTheNumberBehindTheReason) {
  const std::string begin = "fgmpi: process 3 of the job (world rank 3) is gone: ";
  EXPECT_EQ(signal_of_loss(begin + "killed by signal 9 (SIGKILL)\n"), 9);
  EXPECT_EQ(signal_of_loss("[1] " + begin + "killed by signal 11"), 11);
  EXPECT_EQ(signal_of_loss(begin + "it has ended with exit status 9 and without MPI_Finalize\n"),
            0);
  EXPECT_EQ(signal_of_loss(begin + "killed by signal "), 0);
  EXPECT_EQ(signal_of_loss("process 3 is gone: killed by signal 9"), 0);
  EXPECT_EQ(signal_of_loss(" is gone: killed by signal 9 fgmpi: process "), 0);
  EXPECT_EQ(signal_of_loss(""), 0);
}

TEST(UnreachableOfLoss, IsTheProcessWhoseHostTheReasonNames) {
  const std::string begin = "fgmpi: process 63 of the job (process id 490 on host h4) is gone: ";
  const std::string host = "host h4 (net, fi_sockaddr_in://10.77.0.4:34145): ";
  EXPECT_EQ(unreachable_of_loss(begin + host + "unreachable: Connection timed out\n"), 63);
  EXPECT_EQ(unreachable_of_loss("[2] " + begin + host + "Connection timed out; the job goes on"),
            63);
  EXPECT_EQ(unreachable_of_loss(begin + host + "its process has ended\n"), -1);
  EXPECT_EQ(unreachable_of_loss(begin + "killed by signal 9 (SIGKILL)\n"), -1);
  EXPECT_EQ(unreachable_of_loss(host + "unreachable: No route to host"), -1);
  EXPECT_EQ(unreachable_of_loss(""), -1);
}

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
