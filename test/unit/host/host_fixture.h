// Tests that need the hosted MPICH: skipped where it cannot be loaded, with the reason.
#pragma once

#include <gtest/gtest.h>

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

}  // namespace fgmpi::host
