// The library that our mpiexec loads into mpiexec.hydra; what it does and why is in hydra_guard.cc.
#pragma once

namespace fgmpi::launcher {

/// Its file name. LD_PRELOAD names it without its folder, whose path may hold spaces: it is found
/// by LD_LIBRARY_PATH.
inline constexpr const char* kHydraGuard = "libfgmpi_hydra.so";

}  // namespace fgmpi::launcher
