// Choices: in which ways an execution can go on when no rank can run any more.
//
// A choice names what it is by numbers that do not depend on the order of ranks: the how manieth
// receive of its rank, the how manieth message of its sender to that rank. So the same choice is
// found again in another execution. Thread rule: none (values).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "explore/event_set.h"

namespace fgmpi::explore {

struct Choice {
  enum Kind : uint8_t {
    kMatch,   ///< a receive takes a message
    kProbe,   ///< MPI_Probe or MPI_Mprobe sees a message
    kSee,     ///< MPI_Iprobe or MPI_Improbe sees a message
    kDone,    ///< a test, MPI_Waitany or MPI_Waitsome returns complete requests
    kMiss,    ///< a test or probe that does not wait finds nothing
    kRepeat,  ///< the same, and so do all that the rank makes until it does something else
    kBuffer,  ///< a standard send is buffered: its rank goes on before its match
    /// None is, and no rank leaves a collective early, though that is all that could happen.
    kNoBuffer,
    kLeave,  ///< a rank leaves a rooted collective before others have come
    /// An operation on memory of a window happens, or a rank gets a lock there, or comes to a port.
    kAccess,
  };
  /// `source` where a choice is about no message.
  static constexpr int32_t kNoSource = -3;
  Kind kind = kMatch;
  uint32_t rank = 0;  ///< index of the receiving rank in the process
  /// Which receive (or probe) of it, from 0; of tests: see Look; kBuffer: which send; kLeave: which
  /// collective; kAccess: which access.
  uint64_t operation = 0;
  /// Which message of its stream (communicator, source) to that rank, from 0; kDone: which request;
  /// kAccess: 1 if it is a loop's that repeats itself.
  uint32_t number = 0;
  int32_t wanted_source = 0, wanted_tag = 0;  ///< what the receive names
  int32_t source = 0, tag = 0;                ///< the message's
  /// Of both; kDone of MPI_Waitsome: which requests, the lowest bit the first.
  uint64_t context = 0;
  uint64_t bytes = 0;  ///< of the message
  // kAccess: `context` is the window, `source` whose memory it is, `tag` a
  // pt2pt::MemoryAccess::Use, `wanted_tag` its detail, `bytes` how many there, and
  int64_t at = 0;  ///< the first of them

  auto operator<=>(const Choice&) const = default;
  /// Alternatives of one operation: one of them excludes the others.
  bool same_operation(const Choice& other) const {
    return row() == other.row() && rank == other.rank && operation == other.operation;
  }
  bool has_message() const { return kind <= kSee; }
  bool same_message(const Choice& other) const {
    return rank == other.rank && context == other.context && source == other.source &&
           number == other.number;
  }
  /// A rank goes on without having waited for what it need not wait for.
  bool goes_on_early() const { return kind == kBuffer || kind == kLeave; }
  /// Operations of a row are counted together.
  Kind row() const {
    if (kind >= kLeave) return kind;
    return kind >= kBuffer ? kBuffer : std::min(kind, kSee);
  }
};

/// Does the operation of `a` take (or see) the message of `b`?
inline bool covers(const Choice& a, const Choice& b) {
  constexpr int32_t kAnySource = -2, kAnyTag = -1;  // as in mpi.h
  return a.has_message() && b.has_message() && a.rank == b.rank && a.context == b.context &&
         (a.wanted_source == kAnySource || a.wanted_source == b.source) &&
         (a.wanted_tag == kAnyTag || a.wanted_tag == b.tag);
}

/// Accesses of two ranks whose order can be seen. REQUIRES: both are kAccess.
inline bool conflict(const Choice& a, const Choice& b) {
  constexpr int32_t kRead = 0, kFold = 2, kLock = 3;  // as in pt2pt::MemoryAccess
  if (a.context != b.context || a.source != b.source) return false;
  if (a.tag == kLock || b.tag == kLock) return a.tag == b.tag && (a.wanted_tag || b.wanted_tag);
  const auto end = [](const Choice& c) { return c.at + static_cast<int64_t>(c.bytes); };
  if (a.at >= end(b) || b.at >= end(a)) return false;
  if (a.tag == kRead && b.tag == kRead) return false;
  return a.tag != kFold || b.tag != kFold || a.wanted_tag != b.wanted_tag;
}

/// What is left out of the choices.
enum class Limit : uint8_t {
  kNone,
  kSets,     ///< sets of complete requests
  kOutside,  ///< processes of other jobs
};

/// Two choices that are possible at the same point depend on each other when their order can be
/// seen: one takes away what the other could have had. Others lead to the same state in either
/// order: a test that returns some of the requests, or none, does not change what is or becomes
/// complete, and a buffered send can be received as before.
inline bool dependent(const Choice& a, const Choice& b) {
  if (a.kind == Choice::kNoBuffer || b.kind == Choice::kNoBuffer) return true;
  if (a.kind == Choice::kAccess && b.kind == Choice::kAccess && a.rank != b.rank)
    return conflict(a, b);
  return a.rank == b.rank && (a.same_operation(b) || covers(a, b) || covers(b, a));
}

/// A message that came too late for an event which could have had it instead, or an access that
/// came behind one that it is in conflict with.
struct Race {
  static constexpr uint32_t kMessage = ~uint32_t{0}, kWaiter = uint32_t{1} << 31;
  uint32_t event = 0;    ///< what it could have taken part in
  EventSet sender_past;  ///< the events that had to happen before it was sent
  bool early = false;    ///< it could have been sent before the event if a rank had gone on early
  /// The access that came behind; kWaiter + rank: it waits for a lock that others have.
  uint32_t by = kMessage;
  EventSet without{};  ///< of a waiter: the events that keep the lock from it, `event` the first
  bool of_waiter() const { return by >= kWaiter && by != kMessage; }
};

}  // namespace fgmpi::explore
