// The whole process waits, whatever its ranks could do meanwhile.
#pragma once

#include <cstdint>

namespace fgmpi {

/// Sleeps for `ns` nanoseconds, less when a signal is handled; at once when `ns` is not positive.
/// By the system call itself: sleeps, and poll without descriptors, are src/privatize's inside the
/// library and let other ranks run.
void stand_still(int64_t ns);

}  // namespace fgmpi
