// System calls for code that has no errno of its own: a thread that the C library did not start, a
// forked child that must do little.
#pragma once

#include <sys/syscall.h>

#include "base/processor.h"

namespace fgmpi {

/// Returns the kernel's answer unchanged; a negative number is an error.
inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                     long f = 0) {
  return processor::call_kernel(number, a, b, c, d, e, f);
}

/// Closes the descriptors `first` to `last`. Where close_range is missing (before Linux 5.9) or
/// forbidden (by a container), closes only those up to 4,095.
inline void close_descriptors(unsigned first, unsigned last) {
  if (raw_call(SYS_close_range, first, last, 0) == 0) return;
  for (unsigned fd = first; fd <= last && fd <= 4095; ++fd) raw_call(SYS_close, fd);
}

}  // namespace fgmpi
