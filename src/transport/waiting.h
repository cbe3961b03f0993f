// Waiting: how a process receives what comes from other processes, and sleeps until something does.
//
// A WaitSource is anything that a process must poll while it waits: carriers of frames (frames.h),
// and multicast, which carries none. Idle (idle.h) polls all sources and sleeps on them together.
// A sleep has three steps, so that nothing that arrives meanwhile is missed:
//
//   arm()       from now on, whatever arrives ends the next sleep
//   the sleep   on the descriptors of all sources, or in the own way of a source that is alone
//   disarm()    and poll(), which receives it
//
// Thread rule: one thread. Nothing here switches, and only OwnSleep::sleep() blocks.
#pragma once

#include <cstdint>

#include "base/list.h"

namespace fgmpi::transport {

/// A wait for words in memory that processes of this host share. Whoever stores there wakes this
/// process (SharedWaits::wake()). The object is in a list of its source while it waits.
class SharedWait {
 public:
  virtual ~SharedWait() = default;
  /// Has what is waited for come? Called by poll() and before a sleep.
  virtual bool is_over() const = 0;
  /// Called once by poll(), after is_over() was true: the wait has left the list. It may call
  /// sched::ready, and must not switch.
  virtual void end() = 0;
  SharedWait *next = nullptr, *prev = nullptr;  ///< base/list.h
};

/// What a carrier of frames through shared memory has for such waits.
class SharedWaits {
 public:
  virtual ~SharedWaits() = default;
  /// Waits until wait->is_over(); its end() is called then.
  void add(SharedWait* wait) { waits_.push_back(wait); }
  /// Called after a store that the peer may wait for: wakes it if it sleeps, or is about to.
  /// `peer`: the 63 bits of its address-vector element.
  virtual void wake(uint64_t peer) = 0;
  /// Called after such a store: would wake() wake it?
  virtual bool sleeps(uint64_t peer) = 0;

 protected:
  /// True when a wait is over; for arm().
  bool any_is_over() const {
    for (const SharedWait* wait = waits_.front(); wait; wait = wait->next)
      if (wait->is_over()) return true;
    return false;
  }
  /// Ends the waits that are over; true when there was one. For poll(), which calls it after the
  /// frames have been delivered: a question of the deadlock detection (pt2pt/termination.h) is then
  /// answered with all stores in mind that were made before it was sent.
  bool end_waits() {
    bool any = false;
    for (SharedWait* wait = waits_.front(); wait;) {
      SharedWait* const next = wait->next;
      if (wait->is_over()) {
        waits_.remove(wait);
        wait->end();
        any = true;
      }
      wait = next;
    }
    return any;
  }
  List<SharedWait> waits_;
};

/// A way to sleep without a descriptor: on a futex, or for a fixed while. Used only where the
/// process has no other source.
class OwnSleep {
 public:
  virtual ~OwnSleep() = default;
  /// Sleeps at most `timeout_ns` (-1: no limit). REQUIRES: the source's arm() has returned true.
  virtual void sleep(int64_t timeout_ns) = 0;
  /// Ends a sleep() that another thread of this process is in, or is about to begin. A source whose
  /// sleeps are always short, whatever the timeout, does nothing here.
  virtual void interrupt() {}
};

class WaitSource {
 public:
  virtual ~WaitSource() = default;

  /// Receives what has arrived; returns true when there was anything.
  virtual bool poll() = 0;

  /// Prepares to sleep. After arm() has returned true, anything that arrives (also room for a
  /// refused try_send) makes the next sleep return at once. False: something has arrived
  /// already; poll again.
  virtual bool arm() = 0;
  /// Called when the process is awake again, or arm() of another source has returned false.
  virtual void disarm() {}
  /// A file descriptor that becomes readable when the source is armed and something arrives. -1:
  /// there is none. Then own_sleep() is used if this is the only source; otherwise the process
  /// sleeps on the descriptors of the others and polls every millisecond.
  virtual int wait_fd() const = 0;
  /// From now on the process sleeps on this source's descriptor, because another source has one
  /// too. Returns wait_fd(), or -1 when there is none: then the source must be polled.
  virtual int use_wait_fd() { return wait_fd(); }
  /// How this source sleeps while wait_fd() is -1; nullptr: it has no way of its own.
  virtual OwnSleep* own_sleep() { return nullptr; }
  /// How many nanoseconds a sleep may last although nothing arrives. Called after arm().
  virtual int64_t longest_sleep() const { return INT64_MAX; }

  /// Called about once a second while the process waits: checks whether peers are still alive.
  /// Returns true when it received anything, like poll().
  virtual bool tick() { return false; }
  /// For sources that lose and repeat: true when nothing that was sent is under way whose
  /// repetition needs a poll().
  virtual bool quiet() const { return true; }
};

}  // namespace fgmpi::transport
