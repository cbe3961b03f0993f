// The MPI call that the running proclet has made last: for reports of crashes (identity.h).
//
// A word of static memory, far from the heap that programs overrun. Every switch keeps it on the
// stack that it leaves. Thread rule: inside (threads.h).
#pragma once

namespace fgmpi::sched {

namespace detail {
/// nullptr: none.
[[gnu::visibility("hidden")]] extern const char* g_last_call;
}  // namespace detail

/// The running proclet makes this call. REQUIRES: the words are in the library's constant memory.
inline void record_call(const char* call) {
  __atomic_store_n(&detail::g_last_call, call, __ATOMIC_RELAXED);
}

}  // namespace fgmpi::sched
