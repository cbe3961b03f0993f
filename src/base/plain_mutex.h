// A mutex for the library itself. Functions of std::mutex are interposed for the program
// (src/privatize/libc/waits.cc): they let other proclets run while one waits, which code of the
// library must not do.
//
// Thread rule: any. For short sections that neither wait nor switch: the calling OS thread sleeps
// until it has the mutex.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace fgmpi {

class PlainMutex {
 public:
  /// Both changes acquire what the last holder has done; they pair with the release of unlock().
  void lock() {
    uint32_t free = 0;
    if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0)
      futex_wait(&word_, 2, -1, FutexScope::kProcess);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) futex_wake(&word_, FutexScope::kProcess);
  }

 private:
  std::atomic<uint32_t> word_{0};  ///< 0: free, 1: held, 2: held, and a thread may sleep for it
};

}  // namespace fgmpi
