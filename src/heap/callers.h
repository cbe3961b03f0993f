// Whose memory is it? Decides by the place of the call whether malloc() was called for the running
// rank: by its program, or by a library on its behalf. What the MPI library, the C library and the
// dynamic linker need for themselves outlives the rank, and belongs to the process.
//
// Thread rule: any thread. Answers are remembered by place.
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::heap {

/// Finds out; the second and later times for a place it is one comparison.
class Callers {
 public:
  [[gnu::always_inline]] bool is_for_rank(const void* place) {
    const auto at = reinterpret_cast<uintptr_t>(place);
    const uintptr_t known = known_[slot_of(at)].load(std::memory_order_relaxed);
    if (known == at << 1) [[likely]]
      return true;
    if (known == (at << 1 | 1)) return false;
    return find_out(at);
  }

 private:
  static constexpr size_t kKnown = 4096;
  static size_t slot_of(uintptr_t at) { return (at ^ at >> 12) % kKnown; }
  [[gnu::noinline, gnu::cold]] bool find_out(uintptr_t at);

  std::atomic<uintptr_t> known_[kKnown] = {};  ///< a place, shifted; 1: for the process
};

}  // namespace fgmpi::heap
