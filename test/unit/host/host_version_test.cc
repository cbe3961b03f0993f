#include "host/host_version.h"

#include <gtest/gtest.h>

namespace fgmpi::host {
namespace {

using Verdict = HostVersion::Verdict;

struct VersionCase {
  const char* text;
  const char* name;
  Verdict verdict;
};

TEST(HostVersion, IsReadFromWhatTheLibrarySays) {
  const VersionCase cases[] = {
      {"MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\n",
       "MPICH 4.0.2", Verdict::kTried},
      {"MPICH Version:\t4.2.1\nMPICH ABI:\t16:1:4", "MPICH 4.2.1", Verdict::kTried},
      {"MPICH Version:      5.0.2", "MPICH 5.0.2", Verdict::kTried},
      {"MPICH Version:      5.1.0\n", "MPICH 5.1.0", Verdict::kUntried},
      {"MPICH Version:      3.4.1\n", "MPICH 3.4.1", Verdict::kUntried},
      {"MPICH Version:      unreleased development copy\n", "MPICH unreleased development copy",
       Verdict::kUntried},
      {"MPICH Version:\n", "MPICH Version:", Verdict::kUntried},
      {"Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel(R) MPI Library 2021.9 for Linux* OS",
       Verdict::kUntried},
      {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
       "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Verdict::kStranger},
      {"", "an MPI library without a name", Verdict::kUntried},
      {" \n\n", "an MPI library without a name", Verdict::kUntried},
  };
  for (const VersionCase& c : cases) {
    const HostVersion found = read_host_version(c.text);
    EXPECT_EQ(found.name, c.name);
    EXPECT_EQ(found.verdict, c.verdict) << c.text;
  }
}

TEST(HostVersion, LongTextsAreShortened) {
  EXPECT_EQ(read_host_version(std::string(5000, 'x')).name.size(), 80u);
}

}  // namespace
}  // namespace fgmpi::host
