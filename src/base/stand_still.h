// A sleep of the whole process, whatever its ranks could do meanwhile.
#pragma once

#include <cstdint>

namespace fgmpi {

/// Sleeps for `ns` nanoseconds, less when a signal is handled; returns at once when `ns` is not
/// positive. Makes the system call itself: inside the library, sleeps and poll() without
/// descriptors are interposed by src/privatize and let other ranks run.
void stand_still(int64_t ns);

}  // namespace fgmpi
