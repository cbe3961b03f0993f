// How much memory the process has, as the kernel counts it: for the counters of memory.
//
// Thread rule: any, but Remembered: one thread. Nothing here switches or allocates.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fgmpi {

/// Bytes of the pages of [low, high) that the process has of its own: those that were written, in
/// memory or swapped out, also of private mappings of files. 0 where the kernel does not tell.
uint64_t own_bytes(uintptr_t low, uintptr_t high);

/// Bytes of a line of /proc/self/status, such as "VmRSS"; 0 where there is none.
uint64_t status_bytes(const char* name);

/// A number that takes long to find: asked for again and again, it is found anew so seldom that
/// this takes a twentieth of the time.
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
