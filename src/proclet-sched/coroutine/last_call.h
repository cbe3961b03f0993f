// The last MPI call of the running proclet, for reports of crashes (identity.h).
//
// A word of static memory, far from the heap that programs overrun. Every switch saves it on the
// stack that it leaves. Thread rule: inside (threads.h).
#pragma once

namespace fgmpi::sched {

namespace detail {
/// nullptr: no call yet.
[[gnu::visibility("hidden")]] extern const char* g_last_call;
}  // namespace detail

/// Records a call of the running proclet. REQUIRES: the words are in the library's constant memory.
/// The store is volatile for the handler of a crash, which reads the word at any time. The compiler
/// loads all that it has loaded before once more behind an atomic store, even a relaxed one.
inline void record_call(const char* call) {
  *const_cast<const char* volatile*>(&detail::g_last_call) = call;
}

}  // namespace fgmpi::sched
