// The library that mpiexec loads into mpiexec.hydra; hydra_guard.cc lists the faults that it mends.
#pragma once

namespace fgmpi::launcher {

/// The guard's file name. LD_PRELOAD names it without its folder, whose path may hold spaces:
/// LD_LIBRARY_PATH leads to it.
inline constexpr const char* kHydraGuard = "libfgmpi_hydra.so";

}  // namespace fgmpi::launcher
