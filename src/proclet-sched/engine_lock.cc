#include "proclet-sched/engine_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"

namespace fgmpi::sched {
namespace {

/// A thread that has waited so long (ns) for the lock is let in before those that come by: some hundred calls.
constexpr int64_t kStarving = 200'000;
constexpr int kSpins = 64;  ///< looks at the word before the thread sleeps: a call takes as long
constexpr int kMostStepsBack = 20;    ///< yields of the processor for starving threads, a call
constexpr int64_t kLook = 1'000'000;  ///< ns after which a sleeper looks again, whatever happens

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// The system calls themselves: sched_yield() is interposed and would switch between proclets.
void give_way() { syscall(SYS_sched_yield); }

}  // namespace

void EngineLock::prepare() {
  biased_ = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void EngineLock::lock_slowly() {
  for (int i = 0; i < kMostStepsBack && starving_.load(std::memory_order_relaxed) > 0; ++i)
    give_way();
  for (int i = 0; i < kSpins; ++i) {
    uint32_t free = 0;
    if (word_.load(std::memory_order_relaxed) == 0 &&
        word_.compare_exchange_weak(free, 1, std::memory_order_acquire))
      return;
    pause_briefly();
  }
  const int64_t since = now_ns();
  bool starving = false;
  while (word_.exchange(2, std::memory_order_acquire) != 0) {
    futex_wait(&word_, 2, kLook, FutexScope::kProcess);
    if (starving || now_ns() - since < kStarving) continue;
    starving = true;
    starving_.fetch_add(1, std::memory_order_relaxed);
  }
  if (starving) starving_.fetch_sub(1, std::memory_order_relaxed);
}

void EngineLock::wake_one() { futex_wake(&word_, FutexScope::kProcess); }

/// The scheduler's thread has seen that the bias is gone: whoever took it may be asleep.
void EngineLock::give_up_bias() {
  scheduler_inside_.store(0, std::memory_order_release);
  futex_wake(&scheduler_inside_, FutexScope::kProcess);
}

/// REQUIRES: word_ is held. The scheduler's thread either sees that there is no bias any more, or its store is seen here.
void EngineLock::revoke_bias() {
  biased_.store(false, std::memory_order_seq_cst);
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  while (scheduler_inside_.load(std::memory_order_acquire) != 0)
    futex_wait(&scheduler_inside_, 1, kLook, FutexScope::kProcess);
}

}  // namespace fgmpi::sched
