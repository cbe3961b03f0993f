// Sleeping until a peer rings, without a fence or a system call in the sender's fast path.
//
// The sleeper sets `armed` and then looks once more at everything it waits for; the sender stores
// its message and then looks at `armed`. Each must see the other's store, which takes a full fence
// on both sides; a fence in the sender would make every message wait for its cache line. So the
// sleeper pays for both: membarrier(GLOBAL_EXPEDITED) makes every registered process that is
// running pass a fence. A sender that is not registered, or a sleeper whose kernel lacks the call,
// falls back to fences.
#pragma once

#include <cstdint>

#include "transport/shm/segment.h"

namespace fgmpi::transport::shm {

/// Registers this process; false when the kernel has no such call (or FGMPI_SHM_MEMBARRIER=off).
bool register_barrier();
/// Between a store to shared memory and a load from it, on the side that seldom does so.
void heavy_fence(bool registered);
/// The same on the side that often does so; free when both sides are registered.
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
