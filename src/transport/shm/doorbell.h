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

/// Called after a store that the owner of `header` may wait for: rings if the owner is armed. The
/// fence pairs with that of arm_doorbell(): the owner sees the store, or this load sees the word. A
/// sender of a message reads `pid` only where it rings.
inline void ring_if_armed(SegmentHeader* header, bool both_registered, const pid_t& pid,
                          int* pipe) {
  light_fence(both_registered);
  if (__builtin_expect(header->armed.load(std::memory_order_relaxed) != kAwake, 0))
    ring(header, pid, pipe);
}
/// Called by the owner, which must check what it waits for once more before it sleeps.
inline void arm_doorbell(SegmentHeader* header, Armed how, bool registered) {
  header->armed.store(how, std::memory_order_release);  // with `pipe`, for the exchange of ring()
  heavy_fence(registered);
}

/// Called by a sender without room, which must read the credits once more before it waits.
inline void ask_for_room(std::atomic<uint32_t>* wants_room) {
  wants_room->store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of is_room_wanted()
}
/// Called by a sender that has asked: is there room now? It asks again where its request is gone:
/// the receiver may have cleared it with the one before, when it woke the sender for that.
inline bool has_room(RingWriter* writer, std::atomic<uint32_t>* wants_room) {
  if (writer->refresh()) return true;
  if (wants_room->load(std::memory_order_relaxed) != 0) return false;
  ask_for_room(wants_room);
  return writer->refresh();
}
/// Called by the receiver after it has published credits: does the sender wait for them?
inline bool is_room_wanted(std::atomic<uint32_t>* wants_room) {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of ask_for_room()
  if (__builtin_expect(!wants_room->load(std::memory_order_relaxed), 1)) return false;
  wants_room->store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace fgmpi::transport::shm
