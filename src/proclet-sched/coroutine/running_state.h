// The state of the rank that runs, for the fast paths of src/mpi: one load, where the way through
// current() takes two and a test more.
// Thread rule: inside.
#pragma once

#include "proclet-sched/sched.h"

namespace fgmpi::sched::detail {

/// current()->rank_state; nullptr where that is nullptr, or nothing runs. What sets either sets
/// this, too.
[[gnu::visibility("hidden")]] extern void* g_running_state;

inline void set_current(Proclet* p) {
  g_hot.current = p;
  g_running_state = p ? p->rank_state : nullptr;
}

}  // namespace fgmpi::sched::detail
