// How much memory the process has, as the kernel counts it: for the counters of memory.
//
// Thread rule: any; Remembered: one thread. Nothing here switches or allocates.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fgmpi {

/// Bytes of the pages of [low, high) that belong to the process alone: pages that were written, in
/// memory or swapped out, also of private mappings of files. 0 where the kernel does not show them.
uint64_t own_bytes(uintptr_t low, uintptr_t high);

/// The bytes in a line of /proc/self/status, such as "VmRSS"; 0 where there is no such line.
uint64_t status_bytes(const char* name);

/// Caches a number that takes long to find. However often get() is called, finding it anew uses at
/// most a twentieth of the time.
class Remembered {
 public:
  template <class F>
  uint64_t get(F&& find) {
    const int64_t now = now_ns();
    if (now < due_) return value_;
    value_ = find();
    const int64_t end = now_ns();
    due_ = end + 20 * (end - now);
    return value_;
  }

 private:
  int64_t due_ = 0;
  uint64_t value_ = 0;
};

}  // namespace fgmpi
