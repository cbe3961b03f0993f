// What libfgmpi-checkpoint.so has for a tool that is preloaded in front of it, where ranks move
// (FGMPI_BALANCE). Such a tool sees the program's calls and handles, in whichever process a rank
// is. MPIX_Tool_word and MPIX_Tool_handlers belong to that library itself then.
//
// Thread rule: functions are called by ranks. `peer` may switch, the others never do.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::checkpoint {

struct MovesForTools {
  /// The running rank's word for the tool, which goes along with the rank; nullptr: no rank runs.
  void** (*word)();
  /// Zeroed memory of the running rank: at the same address in each process to which it goes, and
  /// in its home as well while it is away.
  void* (*memory)(size_t bytes);
  /// As MPIX_Tool_peer, for a communicator of the program.
  int (*peer)(MPI_Comm comm, int rank, int* way);
  /// As MPIX_Tool_handlers without notices.
  void (*handlers)(void (*deadlock)(), void (*fatal)(int, const char*));
  /// From now on moved(from, to) is called for each rank that has come to this process, as that
  /// rank, before it goes on. It must not switch. The numbers are those of MPIX_Tool_process.
  void (*follow)(void (*moved)(uint32_t from, uint32_t to));
};

}  // namespace fgmpi::checkpoint

/// nullptr where ranks of the job stay where they are.
extern "C" __attribute__((visibility("default"))) const fgmpi::checkpoint::MovesForTools*
fgmpi_moves_for_tools();
