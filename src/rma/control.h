// The control area of a process's part of a window: the passive-target locks of its members, and
// the locks that make accumulates atomic where the processor cannot. It lies in shared memory, so
// that peers of the host need no help of the owner.
//
//   | stripes: 64 lines of 64 | locks: 16 a member here | waiters: 8 a rank of the window |
//
//   lock of a member:  | guard | holders | first waiter | last waiter |
//   waiter of a rank:  | next | kind |
//
// holders: -1 exclusive, n shared. Numbers of waiters are ranks counted from 1; 0 is none.
//
// A rank waits for one lock of a window at a time, so one waiter a rank suffices. Pages without
// waiting ranks are never touched. Locks are granted in the order of the requests. Whoever releases
// a lock wakes the ranks to which it is granted next (sync.cc). Only guards are spun on; each is
// held for some ten instructions.
//
// Thread rule: any process of the host, at once. Invariant: no guard is held across a call that may
// switch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/page.h"

namespace fgmpi::rma {

/// A lock that is held for a few instructions, or for one transfer of at most kMostUnderLock bytes
/// (fold.h).
struct SpinLock {
  std::atomic<uint32_t> held;
  void lock() {
    if (__builtin_expect(held.exchange(1, std::memory_order_acquire) != 0, 0)) wait();
  }
  /// Pairs with the exchanges of lock() and wait().
  void unlock() { held.store(0, std::memory_order_release); }

 private:
  void wait();
};

struct alignas(64) Stripe {
  SpinLock lock;
};
inline constexpr uint32_t kStripes = 64;

enum class LockKind : int32_t { kNone = 0, kShared = 1, kExclusive = 2 };

class Control {
 public:
  /// Bytes of the area of a process that hosts `members` members of a window of `ranks` ranks;
  /// whole pages.
  static size_t bytes(uint32_t members, uint32_t ranks) {
    return page_up(sizeof(Stripe) * kStripes + sizeof(Lock) * members + sizeof(LockWaiter) * ranks);
  }
  /// `memory`: bytes(members, ...) bytes, zeroed when they were allocated.
  Control(void* memory, uint32_t members)
      : stripes_(static_cast<Stripe*>(memory)),
        locks_(reinterpret_cast<Lock*>(stripes_ + kStripes)),
        waiters_(reinterpret_cast<LockWaiter*>(locks_ + members)) {}

  /// The lock for the element at this address, as the owner numbers addresses.
  SpinLock& stripe(uint64_t address) { return stripes_[(address >> 5) % kStripes].lock; }
  /// The lock for all of the process's memory.
  SpinLock& all() { return stripes_[0].lock; }

  /// Requests the lock of a member for rank `rank` of the window. Returns false where the rank has
  /// to wait: a release() will grant the lock.
  bool acquire(uint32_t member, int32_t rank, LockKind kind);
  /// Requests the lock of a member without waiting. Returns false where the rank would have to
  /// wait.
  bool try_acquire(uint32_t member, LockKind kind);
  /// Releases the lock; `granted` receives the ranks that hold it from now on.
  void release(uint32_t member, LockKind kind, std::vector<int32_t>* granted);
  /// The kind of lock that a rank has last waited for.
  LockKind wanted_by(int32_t rank) const { return static_cast<LockKind>(waiters_[rank].kind); }

 private:
  struct Lock {
    SpinLock guard;
    int32_t holders;
    int32_t first, last;
  };
  struct LockWaiter {
    int32_t next;
    int32_t kind;
  };
  static_assert(sizeof(Lock) == 16 && sizeof(LockWaiter) == 8);
  static bool grant_if_compatible(Lock* lock, LockKind kind);

  Stripe* stripes_;
  Lock* locks_;
  LockWaiter* waiters_;
};

}  // namespace fgmpi::rma
