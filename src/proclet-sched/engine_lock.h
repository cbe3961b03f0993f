// The lock that a thread holds while it is inside the library, once calls come from several threads (threads.h).
//
// Biased: as long as no foreign thread has ever entered, the scheduler's thread takes it with a plain store and a load. The
// first foreign thread takes that away: it holds `word_`, clears `biased_`, makes all threads of the process pass a fence
// (membarrier), and waits until the scheduler's thread is outside. From then on both use `word_`, a futex: 0 free, 1 held,
// 2 held and waited for. Threads that come by take it before those that sleep for it, since handing it over would cost two
// context switches a call; but one that has slept for kStarving makes others step back.
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::sched {

class EngineLock {
 public:
  /// Before the first use. Without the kernel's membarrier there is no bias.
  void prepare();

  void lock_on_scheduler_thread() {
    if (__builtin_expect(biased_.load(std::memory_order_relaxed), 1)) {
      scheduler_inside_.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (__builtin_expect(biased_.load(std::memory_order_relaxed), 1)) {
        by_bias_ = true;
        return;
      }
      give_up_bias();
    }
    lock_word();
  }
  void unlock_on_scheduler_thread() {
    if (__builtin_expect(!by_bias_, 0)) return unlock_word();
    by_bias_ = false;
    scheduler_inside_.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(!biased_.load(std::memory_order_relaxed), 0)) give_up_bias();
  }

  void lock() {
    lock_word();
    if (__builtin_expect(biased_.load(std::memory_order_relaxed), 0)) revoke_bias();
  }
  void unlock() { unlock_word(); }

  /// The holder: somebody waits for the lock.
  bool contended() const {
    return word_.load(std::memory_order_relaxed) == 2 ||
           (by_bias_ && !biased_.load(std::memory_order_relaxed));
  }

 private:
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
  void give_up_bias();
  void revoke_bias();

  alignas(64) std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> starving_{0};  ///< threads that have slept for the lock too long
  alignas(64) std::atomic<uint32_t> scheduler_inside_{0};
  std::atomic<bool> biased_{false};
  bool by_bias_ = false;  ///< of the scheduler's thread: how it holds the lock
};

}  // namespace fgmpi::sched
