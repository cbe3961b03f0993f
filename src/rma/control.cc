// Locks in a control area: acquiring, waiting, releasing.

#include "rma/control.h"

#include "base/raw_call.h"
#include "base/relax_cpu.h"

namespace fgmpi::rma {

void SpinLock::wait() {
  // The holder may have lost its core: give it ours after a while.
  for (unsigned tries = 1;; ++tries) {
    if (held.load(std::memory_order_relaxed) == 0 &&
        held.exchange(1, std::memory_order_acquire) == 0)
      return;
    if (tries % 256 == 0)
      raw_call(SYS_sched_yield);
    else
      relax_cpu();
  }
}

bool Control::grant_if_compatible(Lock* lock, LockKind kind) {
  if (kind == LockKind::kExclusive ? lock->holders != 0 : lock->holders < 0) return false;
  lock->holders = kind == LockKind::kExclusive ? -1 : lock->holders + 1;
  return true;
}

bool Control::acquire(uint32_t member, int32_t rank, LockKind kind) {
  Lock* lock = &locks_[member];
  lock->guard.lock();
  const bool granted_now = lock->first == 0 && grant_if_compatible(lock, kind);
  if (!granted_now) {
    waiters_[rank] = {0, static_cast<int32_t>(kind)};
    if (lock->first)
      waiters_[lock->last - 1].next = rank + 1;
    else
      lock->first = rank + 1;
    lock->last = rank + 1;
  }
  lock->guard.unlock();
  return granted_now;
}

bool Control::try_acquire(uint32_t member, LockKind kind) {
  Lock* lock = &locks_[member];
  lock->guard.lock();
  const bool granted_now = lock->first == 0 && grant_if_compatible(lock, kind);
  lock->guard.unlock();
  return granted_now;
}

void Control::release(uint32_t member, LockKind kind, std::vector<int32_t>* granted) {
  Lock* lock = &locks_[member];
  lock->guard.lock();
  lock->holders = kind == LockKind::kExclusive ? 0 : lock->holders - 1;
  while (lock->first &&
         grant_if_compatible(lock, static_cast<LockKind>(waiters_[lock->first - 1].kind))) {
    granted->push_back(lock->first - 1);
    lock->first = waiters_[lock->first - 1].next;
  }
  lock->guard.unlock();
}

}  // namespace fgmpi::rma
