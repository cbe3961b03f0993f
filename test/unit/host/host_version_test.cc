#include "host/host_version.h"

#include <gtest/gtest.h>

namespace fgmpi::host {
namespace {

using Support = HostVersion::Support;

struct VersionCase {
  const char* text;
  const char* name;
  Support support;
};

TEST(HostVersion, IsReadFromWhatTheLibrarySays) {
  const VersionCase cases[] = {
      {"MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\n",
       "MPICH 4.0.2", Support::kTried},
      {"MPICH Version:\t4.2.1\nMPICH ABI:\t16:1:4", "MPICH 4.2.1", Support::kTried},
      {"MPICH Version:      5.0.2", "MPICH 5.0.2", Support::kTried},
      {"MPICH Version:      5.1.0\n", "MPICH 5.1.0", Support::kUntried},
      {"MPICH Version:      3.4.1\n", "MPICH 3.4.1", Support::kUntried},
      {"MPICH Version:      unreleased development copy\n", "MPICH unreleased development copy",
       Support::kUntried},
      {"MPICH Version:\n", "MPICH Version:", Support::kUntried},
      {"Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel(R) MPI Library 2021.9 for Linux* OS",
       Support::kUntried},
      {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
       "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Support::kStranger},
      {"", "an MPI library without a name", Support::kUntried},
      {" \n\n", "an MPI library without a name", Support::kUntried},
  };
  for (const VersionCase& c : cases) {
    const HostVersion found = read_host_version(c.text);
    EXPECT_EQ(found.name, c.name);
    EXPECT_EQ(found.support, c.support) << c.text;
  }
}

TEST(HostVersion, LongTextsAreShortened) {
  EXPECT_EQ(read_host_version(std::string(5000, 'x')).name.size(), 80u);
}

}  // namespace
}  // namespace fgmpi::host
