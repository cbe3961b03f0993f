// What a debugger needs to find the proclets of a process or core file, without debug information:
// exported as fgmpi_debug_table and read by share/gdb/fgmpi-gdb.py. Fixed layout, 8-byte fields:
//
//   version | proclet bytes | ranks | rank count | first world rank | &current |
//   offsets in a proclet: context, wait, state, stack_low, stack_size |
//   image region | image stride | image count | load address of the program |
//   first of the modules' images | words of the packer, one a rank, or 0 |
//   the rank whose image is at the start of the region | bytes of an image |
//   where ranks are that have moved, or 0 where ranks stay in their processes
//
// A suspended proclet's context points to:
//   x86-64: fpu state, rip, rbp, 128 bytes without meaning; the other registers are in the frames
//   64-bit Arm: d8 to d15, x19 to x28, x29, x30, pc, a word without meaning
//
// Where a rank's context is 0, the lower two bits of the packer's word say why: 0 it has not begun,
// 1 the lower 48 bits are the context, 2 its stack is packed (packing.h).
#pragma once

#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::sched {

/// Images of one module: the image of rank k of this process is at region + (k - first) * stride.
/// The layout is fixed, too.
struct DebugImages {
  DebugImages* next = nullptr;
  const char* path = nullptr;  ///< "" is the program's
  uint64_t region = 0, stride = 0, first = 0, count = 0;
};

/// A process of the job.
struct DebugProcess {
  uint32_t first_rank;  ///< world rank of its first one
  int32_t pid;          ///< 0: it is on another host
};

/// Where ranks are, in a job whose ranks may move. Layout as above.
struct DebugPlaces {
  /// Two vectors (three pointers each) of two 32-bit numbers: world rank and process of ranks that
  /// are known to be away from home; number here and world rank of ranks of others that are here.
  const void* moved_ranks = nullptr;
  const DebugProcess* processes = nullptr;
  uint64_t process_count = 0;
  uint64_t own_ranks = 0;  ///< ranks that have begun here, in front of all others
};

struct DebugTable {
  uint64_t version = 8;
  uint64_t proclet_bytes = sizeof(Proclet);
  Proclet* ranks = nullptr;
  uint64_t rank_count = 0;
  uint64_t first_world_rank = 0;
  Proclet* const* current = &detail::g_hot.current;
  uint64_t context_offset = offsetof(Proclet, context);
  uint64_t wait_offset = offsetof(Proclet, wait);
  uint64_t state_offset = offsetof(Proclet, state);
  uint64_t stack_low_offset = offsetof(Proclet, stack_low);
  uint64_t stack_size_offset = offsetof(Proclet, stack_size);
  uint64_t image_region = 0, image_stride = 0, image_count = 0, program_base = 0;
  DebugImages* images = nullptr;
  const uint64_t* pack_words = nullptr;
  uint64_t image_first = 1, image_bytes = 0;
  const DebugPlaces* places = nullptr;
};
static_assert(sizeof(DebugTable) == 20 * 8 && sizeof(DebugPlaces) == 4 * 8 &&
                  sizeof(DebugImages) == 6 * 8,
              "read by the debugger script");

/// Adds the images to the list that the debugger reads, which stores the pointer. One thread at a
/// time may call these two.
void show_to_debugger(DebugImages* images);
void hide_from_debugger(DebugImages* images);

}  // namespace fgmpi::sched

extern "C" __attribute__((visibility("default"))) fgmpi::sched::DebugTable fgmpi_debug_table;
