// The lock that a thread holds while it is inside the library, once calls come from several threads
// (threads.h).
//
// The lock is biased: it is lent to one thread, which takes it with a plain store and a load.
// Another thread that wants the lock holds `word_`, ends the loan, makes all threads of the process
// pass a fence (membarrier), and waits until the borrower is outside. From then on all threads use
// `word_`, a futex: 0 free, 1 held, 2 held and waited for. A thread that has taken the lock kStreak
// times in a row, with no other thread in between, borrows it again.
//
//   lent to A:        A: inside = 1; still lent? then in     ... inside = 0
//                     B: word_ = 1; lent to nobody; fence; until A.inside == 0
//   lent to nobody:   CAS word_ 0 -> 1                       ... exchange word_ 0, wake if it was 2
//
// Cost of a call: 2 ns where the lock is lent, two atomic operations (some 15 ns) where it is not,
// some microseconds to end a loan. Arriving threads may take a free lock before threads that sleep
// for it, since handing it over would cost two context switches a call. But a thread that has slept
// for kStarving makes others wait.
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::sched {

struct Proclet;

/// What a thread needs to use the lock; lives until EngineLock::forget().
struct LockUser {
  std::atomic<uint32_t> inside{0};  ///< 1: the thread is inside by a loan
  bool was_lent = false;
  Proclet* outside_as = nullptr;  ///< while the thread is outside: its proclet (threads.h)
};

class EngineLock {
 public:
  /// Called before the first use; lends the lock to `user`. Without the kernel's membarrier there
  /// are no loans. All threads pass a fence, so that what the caller stores next comes after this.
  void prepare(LockUser* user);

  bool is_lent_to(const LockUser* me) const {
    return lent_to_.load(std::memory_order_relaxed) == me;
  }
  /// Takes the lock by a plain store. False: the loan has just ended, and the caller calls
  /// end_loan(). REQUIRES: is_lent_to(me), a moment ago.
  bool take_loan(LockUser* me) {
    // The store comes before the load for revoke(), which makes this thread pass a fence. What the
    // lock protects needs no order: since it was lent, only this thread has changed it.
    me->inside.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return __builtin_expect(is_lent_to(me), 1);
  }
  /// Gives the lock back that take_loan() has taken. False: the loan has ended, and the caller
  /// calls end_loan(). REQUIRES: me->inside.
  bool return_loan(LockUser* me) {
    me->inside.store(0, std::memory_order_release);       // pairs with the load of revoke()
    std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with the fence of revoke()
    return __builtin_expect(is_lent_to(me), 1);
  }
  /// Lets the thread go on that has ended the loan of `me`, which is outside.
  void end_loan(LockUser* me) { wake_revoker(me); }

  /// Takes the lock by a plain store, if it is lent to `me`.
  bool lock_by_loan(LockUser* me) {
    if (__builtin_expect(!is_lent_to(me), 0)) return false;
    if (take_loan(me)) return true;
    end_loan(me);
    return false;
  }
  /// REQUIRES: me->inside.
  void unlock_by_loan(LockUser* me) {
    if (!return_loan(me)) end_loan(me);
  }

  void lock(LockUser* me) {
    if (lock_by_loan(me)) return;
    lock_word();
    // The load pairs with forget(): it acquires what a thread has done under a loan that this
    // ended.
    if (__builtin_expect(lent_to_.load(std::memory_order_acquire) != &nobody_, 0)) revoke();
  }
  void unlock(LockUser* me) {
    if (me->inside.load(std::memory_order_relaxed)) return unlock_by_loan(me);
    if (latest_ != me)
      latest_ = me, streak_ = 0;
    else if (__builtin_expect(++streak_ >= kStreak, 0))
      lend(me);
    unlock_word();
  }

  /// Called by the holder: true when a thread waits for the lock.
  bool contended(const LockUser* me) const {
    if (me->inside.load(std::memory_order_relaxed))
      return lent_to_.load(std::memory_order_relaxed) != me;
    return word_.load(std::memory_order_relaxed) == 2;
  }

  /// From now on no thread uses `me`, which is outside. Does not wait for a thread that is inside.
  void forget(LockUser* me);

 private:
  static constexpr uint32_t kStreak = 256;  ///< some ten times as many as make a loan pay

  /// All changes of word_ to a held state acquire; they pair with the release of unlock_word().
  void lock_word() {
    uint32_t free = 0;
    if (__builtin_expect(starving_.load(std::memory_order_relaxed) == 0 &&
                             word_.compare_exchange_strong(free, 1, std::memory_order_acquire),
                         1))
      return;
    lock_slowly();
  }
  void unlock_word() {
    if (__builtin_expect(word_.exchange(0, std::memory_order_release) == 2, 0)) wake_one();
  }
  void lock_slowly();
  void wake_one();
  void wake_revoker(LockUser* me);
  void revoke();
  void lend(LockUser* me);

  alignas(64) std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> starving_{0};  ///< threads that have slept for the lock too long
  LockUser* latest_ = nullptr;         ///< held word_ last; only compared, since it may be gone
  uint32_t streak_ = 0;                ///< how often latest_ has held it in a row
  bool lends_ = false;
  alignas(64) std::atomic<LockUser*> lent_to_{&nobody_};
  std::atomic<LockUser*> revoked_{nullptr};  ///< its `inside` is read by the thread that has word_
  static inline LockUser nobody_;
};

}  // namespace fgmpi::sched
