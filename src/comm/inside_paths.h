// The fast paths of messages for a caller that is inside of the library, once calls have to enter
// it first (proclet-sched/threads/threads.h).
//
// close_fast_paths() (comm.h) closes the paths of callers that have not entered: because threads
// were enabled, or because every message is to be examined (a process has failed, a tool listens).
// Only the second kind of reason closes the paths of callers that have entered, too.
//
// Thread rule: inside. Nothing here switches.
#pragma once

#include "comm/comm.h"

namespace fgmpi::comm {

namespace detail {
[[gnu::visibility("hidden")]] extern FastHandles g_inside_handles;
}

/// From now on every message is examined: closes all fast paths.
void close_all_fast_paths();

}  // namespace fgmpi::comm
