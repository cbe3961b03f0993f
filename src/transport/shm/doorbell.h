// Sleeping until a peer rings, without a fence or a system call in the sender's fast path.
//
// The sleeper sets `armed` and then checks once more everything that it waits for; the sender
// stores its message and then reads `armed`. Each must see the other's store, which needs a full
// fence on both sides; but a fence in the sender would make every message wait for its cache line.
// So the sleeper pays for both: membarrier(GLOBAL_EXPEDITED) makes every registered process that is
// running pass a fence. Where the sender is not registered, or the sleeper's kernel lacks the call,
// both use fences.
#pragma once

#include <cstdint>

#include "transport/shm/segment.h"

namespace fgmpi::transport::shm {

/// Registers this process; false when the kernel has no such call (or FGMPI_SHM_MEMBARRIER=off).
bool register_barrier();
/// The fence between a store to shared memory and a load from it, on the side that seldom needs it.
void heavy_fence(bool registered);
/// The fence on the side that often needs it; free when both sides are registered.
inline void light_fence(bool both_registered) {
  if (__builtin_expect(both_registered, 1))
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Wakes the owner of `header` (process `pid`) if it is armed. `pipe` caches the descriptor of its
/// pipe.
void ring(SegmentHeader* header, int pid, int* pipe);

}  // namespace fgmpi::transport::shm
