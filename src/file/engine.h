// The threads that make the system calls of files, so that a rank that waits for a disk stops nobody else.
//
//   rank: parks --> queue --> a thread: perform() --> sched::post_completion() --> the rank is made ready
//
// Threads are started when there is more to do than those that run can take at once, kThreads at most, and stay. They touch
// nothing of the library but their transfer, and block all signals.
// Thread rule: run_on_threads() may switch; what is behind the queue's lock is the threads'.
#pragma once

#include "file/transfer.h"

namespace fgmpi::file {

/// False when there is no thread to be had: nothing was done. REQUIRES: on a proclet.
bool run_on_threads(Transfer* transfer, const char* call);

}  // namespace fgmpi::file
