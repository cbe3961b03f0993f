// The library that our mpiexec loads into mpiexec.hydra; what it does and why is in hydra_guard.cc.
#pragma once

#include <cstdlib>
#include <string>

namespace fgmpi::launcher {

/// Its file in the library folder. Without a folder in LD_PRELOAD, which cannot hold spaces: it is
/// found by LD_LIBRARY_PATH.
inline constexpr const char* kHydraGuard = "libfgmpi_hydra.so";

/// Puts `first` before what a list in the environment, separated by colons, holds.
inline void put_first(const char* variable, const std::string& first) {
  const char* present = std::getenv(variable);
  setenv(variable, (present && *present ? first + ":" + present : first).c_str(), 1);
}

}  // namespace fgmpi::launcher
