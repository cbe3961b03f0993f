// AccessDecider: decides in which order operations on windows happen, and which rank gets a lock
// (src/explore, src/predict).
//
// A process has one only under mpiexec -explore, -replay and -predict. Each operation and each lock
// then waits until the decider lets it happen. Without a decider an operation costs one test of a
// pointer, and the shortest ways (win_inl.h) cost none: the layer that sets a decider closes them.
//
// Thread rule: one thread. Nothing here switches unless its comment says so.
#pragma once

#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::rma {

/// An operation on memory of a window, or the wait for a lock there. Two of them conflict when a
/// program can observe their order.
struct MemoryAccess {
  enum Use : uint8_t {
    kRead,
    kWrite,  ///< and every use without a name here
    kFold,   ///< accesses with the same `detail` can be exchanged
    kLock,   ///< `detail`: 1 for an exclusive lock, else 0
  };
  Use use = kRead;
  uint32_t detail = 0;
  uint64_t window = 0;
  int32_t target = 0;             ///< the rank whose memory it is
  int64_t offset = 0, bytes = 0;  ///< in the target's memory
  const char* memory = nullptr;   ///< that memory, where it is in this process; nullptr for a lock
  /// A number for the call, its operation and its operands: accesses with the same number
  /// do the same.
  uint64_t deed = 0;
  uint32_t local = 0;    ///< the target's index in its process
  int64_t moved = 0;     ///< bytes of data
  bool fetches = false;  ///< it changes memory, and what was there comes back
};

/// A notification of one member of a window by another: its exposure epoch has begun (kPosted:
/// MPI_Win_post), or the accesses to it are complete (kCompleted: MPI_Win_complete).
struct WindowNotice {
  enum NoticeKind : uint8_t { kPosted, kCompleted };
  uint64_t window;
  int32_t from, to;  ///< ranks in the window
  NoticeKind kind;
  uint32_t local;  ///< index in its process of `to` where the notice is sent, else of `from`
};

class AccessDecider {
 public:
  virtual ~AccessDecider() = default;
  /// Parks until the decider lets this access happen. The caller makes the access before it parks
  /// again. For a lock, the lock is then free. May switch.
  virtual void await_access(const MemoryAccess& access, const sched::WaitSite* site) = 0;
  /// Called before a lock that await_access() has granted is released.
  virtual void record_unlock(uint64_t window, int32_t target, bool exclusive) = 0;
  /// Records that the running rank sends a notice: what it has done comes before what the receiver
  /// does after record_notice_received().
  virtual void record_notice_sent(const WindowNotice& notice) = 0;
  virtual void record_notice_received(const WindowNotice& notice) = 0;
};

/// nullptr in all processes but those of mpiexec -explore, -replay and -predict.
extern AccessDecider* g_access_decider;

}  // namespace fgmpi::rma
