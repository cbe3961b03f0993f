// The control area of a process's part of a window: passive-target locks of its members, and the
// locks that make accumulates atomic where the processor cannot. In shared memory, so that peers of
// the host need no help of the owner.
//
//   | stripes: 64 lines of 64 | locks: 16 a member here | waiters: 8 a rank of the window |
//
//   lock of a member:  | guard | holders | first waiter | last waiter |      holders: -1 exclusive, n shared
//   waiter of a rank:  | next | kind |                                     ranks count from 1, 0 is none
//
// A rank waits for one lock of a window at a time, so one waiter a rank suffices. Pages that nobody
// waits on are never touched. Locks are granted in the order in which they were asked for. Whoever
// releases a lock wakes those to whom it goes on (sync.cc); nobody spins but on a guard, which is
// held for some ten instructions.
//
// Thread rule: any process of the host, at once. Invariant: a guard is never held across anything
// that may switch.
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
  /// Bytes of the area of a process with so many members of a window of `ranks`; whole pages.
  static size_t bytes(uint32_t members, uint32_t ranks) {
    return page_up(sizeof(Stripe) * kStripes + sizeof(Lock) * members + sizeof(Waiter) * ranks);
  }
  /// `memory`: zeroed when it was made, of so many bytes.
  Control(void* memory, uint32_t members)
      : stripes_(static_cast<Stripe*>(memory)),
        locks_(reinterpret_cast<Lock*>(stripes_ + kStripes)),
        waiters_(reinterpret_cast<Waiter*>(locks_ + members)) {}

  /// For the element at this address of the owner's.
  SpinLock& stripe(uint64_t address) { return stripes_[(address >> 5) % kStripes].lock; }
  /// For all of the process's memory.
  SpinLock& all() { return stripes_[0].lock; }

  /// Rank `rank` of the window asks for the lock of a member. False: it waits, and is granted it by
  /// a release().
  bool acquire(uint32_t member, int32_t rank, LockKind kind);
  /// The same for a rank that does not wait: false, if it would have to.
  bool try_acquire(uint32_t member, LockKind kind);
  /// Gives it back; `granted`: the ranks that have it from now on.
  void release(uint32_t member, LockKind kind, std::vector<int32_t>* granted);
  /// What a rank has last waited for.
  LockKind wanted_by(int32_t rank) const { return static_cast<LockKind>(waiters_[rank].kind); }

 private:
  struct Lock {
    SpinLock guard;
    int32_t holders;
    int32_t first, last;
  };
  struct Waiter {
    int32_t next;
    int32_t kind;
  };
  static_assert(sizeof(Lock) == 16 && sizeof(Waiter) == 8);
  static bool take(Lock* lock, LockKind kind);

  Stripe* stripes_;
  Lock* locks_;
  Waiter* waiters_;
};

}  // namespace fgmpi::rma
