// The threads that make the system calls of files, so that a rank that waits for a disk stops nobody else
// (proclet-sched/blocking.h). A few at a time: more would only wait for each other in the kernel.
// Thread rule: run_on_threads() may switch.
#pragma once

#include "file/transfer.h"

namespace fgmpi::file {

/// False when there is no thread to be had: nothing was done. REQUIRES: not on the host stack.
bool run_on_threads(Transfer* transfer, const char* call);

}  // namespace fgmpi::file
