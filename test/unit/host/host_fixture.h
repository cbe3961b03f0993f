// Tests that need the hosted MPICH: skipped where it cannot be loaded, with the reason.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "host/host.h"

namespace fgmpi::host {

/// Address sanitizer builds cannot load a library with RTLD_DEEPBIND (host.cc).
#ifdef FGMPI_SANITIZE
inline constexpr bool kHostLoads = false;
#else
inline constexpr bool kHostLoads = true;
#endif

class WithHost : public testing::Test {
 protected:
  void SetUp() override {
    if (!kHostLoads)
      GTEST_SKIP() << "the address sanitizer refuses RTLD_DEEPBIND, so there is no host";
  }
};

/// The version of the host: 50002 for MPICH 5.0.2. Tests that compare with the host say by it which
/// versions differ.
inline int host_version() {
  std::string name;
  int major = 0, minor = 0, patch = 0;
  EXPECT_TRUE(find_version(&name).ok());
  std::sscanf(name.c_str(), "MPICH %d.%d.%d", &major, &minor, &patch);
  EXPECT_GE(major, 4) << name;
  return major * 10000 + minor * 100 + patch;
}

}  // namespace fgmpi::host
