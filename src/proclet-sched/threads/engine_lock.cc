// The slow paths of the engine lock, and lending and revoking.

#include "proclet-sched/threads/engine_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/relax_cpu.h"

namespace fgmpi::sched {
namespace {

/// A thread that has waited so long for the lock (ns) gets it before arriving threads: the time of
/// some hundred calls.
constexpr int64_t kStarving = 200'000;
/// Reads of the word before the thread sleeps: together about as long as a call.
constexpr int kSpins = 64;
constexpr int kMostStepsBack = 20;  ///< in one call: yields of the processor for starving threads
/// Time (ns) after which a sleeper checks the word again in any case.
constexpr int64_t kLockCheckInterval = 1'000'000;

/// Makes the system call directly: sched_yield() is interposed and would switch between proclets.
void give_way() { syscall(SYS_sched_yield); }

}  // namespace

void EngineLock::prepare(LockUser* user) {
  lends_ = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  lend(user);
  // A thread that finds the lock in use, by a flag without an order, must find the loan as well.
  if (lends_) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/// REQUIRES: word_ is held, or the lock is not in use yet.
void EngineLock::lend(LockUser* me) {
  streak_ = 0;
  if (!lends_ || word_.load(std::memory_order_relaxed) == 2) return;
  me->was_lent = true;
  lent_to_.store(me, std::memory_order_relaxed);  // the release of word_ publishes it
}

void EngineLock::lock_slowly() {
  for (int i = 0; i < kMostStepsBack && starving_.load(std::memory_order_relaxed) > 0; ++i)
    give_way();
  for (int i = 0; i < kSpins; ++i) {
    uint32_t free = 0;
    if (word_.load(std::memory_order_relaxed) == 0 &&
        word_.compare_exchange_weak(free, 1, std::memory_order_acquire))
      return;
    relax_cpu();
  }
  const int64_t since = now_ns();
  bool starving = false;
  while (word_.exchange(2, std::memory_order_acquire) != 0) {
    futex_wait(&word_, 2, kLockCheckInterval, FutexScope::kProcess);
    if (starving || now_ns() - since < kStarving) continue;
    starving = true;
    starving_.fetch_add(1, std::memory_order_relaxed);
  }
  if (starving) starving_.fetch_sub(1, std::memory_order_relaxed);
}

void EngineLock::wake_one() { futex_wake(&word_, FutexScope::kProcess); }

/// Called when `me` finds its loan ended: the thread that ended it may be asleep.
void EngineLock::wake_revoker(LockUser* me) {
  me->inside.store(0, std::memory_order_release);  // pairs with the load of revoke()
  futex_wake(&me->inside, FutexScope::kProcess);
}

/// Ends the loan. The fence in all threads decides: the borrower either sees that its loan has
/// ended, or its store is seen here, and the last load of `inside` acquires what it has done.
/// revoked_ keeps the borrower's LockUser alive: this stores revoked_ and then changes lent_to_,
/// forget() changes lent_to_ and then loads revoked_, all in one order (seq_cst). REQUIRES: word_
/// is held.
void EngineLock::revoke() {
  LockUser* user = lent_to_.load(std::memory_order_relaxed);
  revoked_.store(user, std::memory_order_seq_cst);
  if (lent_to_.exchange(&nobody_, std::memory_order_seq_cst) == user) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    while (user->inside.load(std::memory_order_acquire) != 0)
      futex_wait(&user->inside, 1, kLockCheckInterval, FutexScope::kProcess);
  }
  revoked_.store(nullptr, std::memory_order_release);  // pairs with the load of forget()
}

void EngineLock::forget(LockUser* me) {
  if (!me->was_lent) return;
  LockUser* expected = me;
  lent_to_.compare_exchange_strong(expected, &nobody_, std::memory_order_seq_cst);
  while (revoked_.load(std::memory_order_seq_cst) == me) give_way();
}

}  // namespace fgmpi::sched
