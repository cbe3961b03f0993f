// Sleeping on a word of memory until another thread or process wakes the sleeper (futex(2)).
//
// Thread rule: any. Nothing here switches: the calling thread sleeps. errno is unchanged.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/raw_call.h"

namespace fgmpi {

/// Which threads may share the word: those of one process, or all that have it mapped.
enum class FutexScope : int { kProcess = FUTEX_PRIVATE_FLAG, kShared = 0 };

/// Sleeps while *word == value; `timeout_ns` < 0: no limit. May return early.
inline void futex_wait(std::atomic<uint32_t>* word, uint32_t value, int64_t timeout_ns,
                       FutexScope scope) {
  const timespec timeout = to_timespec(timeout_ns < 0 ? 0 : timeout_ns);
  raw_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT | static_cast<int>(scope), value,
           reinterpret_cast<long>(timeout_ns < 0 ? nullptr : &timeout));
}
/// Wakes one sleeper.
inline void futex_wake(std::atomic<uint32_t>* word, FutexScope scope) {
  raw_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE | static_cast<int>(scope), 1);
}

}  // namespace fgmpi
