// What src/tape, which is preloaded in front of the library, calls in a process whose run is
// recorded or repeated.
//
// Thread rule: the scheduler's thread. Nothing switches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

/// An MPI call as it begins.
struct CallBegun {
  const char* name;  ///< MPI_Send
  uint32_t number;   ///< of the call among those that are wrapped
  /// The rank that it names (destination, source, root, target), or kNoPartner.
  int32_t partner;
  int64_t count;  ///< of elements, or 0
  const void* place;
};
inline constexpr int32_t kNoPartner = INT32_MIN;

struct RewindHooks {
  /// The next event of the run.
  void (*count_call)(const CallBegun& call);
  /// Random numbers that the program gets without a system call: writes them down, or replaces
  /// them by the recorded ones.
  void (*pass_random)(void* bytes, size_t size);
  /// How a place (a return address) becomes an address of the program as the linker loaded it.
  void (*set_places)(uint64_t (*place_of)(const void* place));
};

}  // namespace fgmpi::rewind

/// nullptr in all processes but those of mpiexec -record and -rewind.
extern "C" __attribute__((visibility("default"))) const fgmpi::rewind::RewindHooks*
fgmpi_rewind_hooks();
