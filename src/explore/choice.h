// Choices: the ways in which an execution can continue when no rank can run any more.
//
// A choice is identified by numbers that do not depend on the order of ranks: the receive by its
// number among those of its rank, the message by its number among those of its sender to that rank.
// So the same choice can be found again in another execution. Thread rule: none (values).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "explore/event_set.h"

namespace fgmpi::explore {

struct Choice {
  enum ChoiceKind : uint8_t {
    kMatch,   ///< a receive matches a message
    kProbe,   ///< MPI_Probe or MPI_Mprobe finds a message
    kSee,     ///< MPI_Iprobe or MPI_Improbe finds a message
    kDone,    ///< a test, MPI_Waitany or MPI_Waitsome returns complete requests
    kMiss,    ///< a test or probe that does not wait finds nothing
    kRepeat,  ///< kMiss, and so do all that the rank makes until it does something else
    kBuffer,  ///< a standard send is buffered: its rank continues before the match
    /// No send is buffered and no rank leaves a collective early, though nothing else could happen.
    kNoBuffer,
    kLeave,  ///< a rank leaves a rooted collective before others have arrived
    /// A rank accesses memory of a window, acquires a lock there, or comes to a port.
    kAccess,
  };
  /// What an access does: the `tag` of a kAccess.
  enum AccessUse : int32_t {
    kRead,
    kWrite,         ///< and every use without a name here
    kFold,          ///< accumulates; accesses with the same `wanted_tag` can be exchanged
    kLock,          ///< acquires a lock; `wanted_tag`: 1 for an exclusive one, else 0
    kArriveAtPort,  ///< arrives at one end of a port
  };
  /// The `wanted_tag` of a kAccess that uses no window.
  enum ConnectionUse : int32_t { kConnects = 1, kAccepts, kName };
  /// The `source` of a choice that is about no message.
  static constexpr int32_t kNoSource = -3;
  ChoiceKind kind = kMatch;
  uint32_t rank = 0;  ///< index of the receiving rank in the process
  /// The number of the receive or probe in its rank, from 0. For tests: see PolledSubject; kBuffer:
  /// number of the send; kLeave: of the collective; kAccess: of the access.
  uint64_t operation = 0;
  /// The number of the message in its stream (communicator, source) to that rank, from 0. kDone:
  /// index of the request; kAccess: 1 for the access of a loop that repeats itself.
  uint32_t number = 0;
  int32_t wanted_source = 0, wanted_tag = 0;  ///< the arguments of the receive
  int32_t source = 0, tag = 0;                ///< of the message
  /// The context id of both. kDone of MPI_Waitsome: the set of requests, bit i for request i.
  uint64_t context = 0;
  uint64_t bytes = 0;  ///< of the message
  // kAccess: `context` is the number of the window, of the end of the port or of the published
  // name, `source` the rank whose memory is accessed, `tag` an AccessUse, `wanted_tag` its detail,
  // `bytes` the size of the access, and `at` the offset of its first byte.
  int64_t at = 0;

  auto operator<=>(const Choice&) const = default;
  /// Are the two alternatives of one operation, so that one excludes the other?
  bool same_operation(const Choice& other) const {
    return row() == other.row() && rank == other.rank && operation == other.operation;
  }
  bool has_message() const { return kind <= kSee; }
  bool same_message(const Choice& other) const {
    return rank == other.rank && context == other.context && source == other.source &&
           number == other.number;
  }
  /// Does a rank continue without waiting for something for which MPI does not require it to wait?
  bool goes_on_early() const { return kind == kBuffer || kind == kLeave; }
  /// The row of a kind. Operations are numbered within a row.
  ChoiceKind row() const {
    if (kind >= kLeave) return kind;
    return kind >= kBuffer ? kBuffer : std::min(kind, kSee);
  }
};

/// Can the operation of `a` match (or find) the message of `b`?
inline bool covers(const Choice& a, const Choice& b) {
  constexpr int32_t kAnySource = -2, kAnyTag = -1;  // as in mpi.h
  return a.has_message() && b.has_message() && a.rank == b.rank && a.context == b.context &&
         (a.wanted_source == kAnySource || a.wanted_source == b.source) &&
         (a.wanted_tag == kAnyTag || a.wanted_tag == b.tag);
}

/// Can the order of two ranks' accesses be observed? REQUIRES: both are kAccess.
inline bool conflict(const Choice& a, const Choice& b) {
  if (a.context != b.context || a.source != b.source) return false;
  if (a.tag == Choice::kLock || b.tag == Choice::kLock)
    return a.tag == b.tag && (a.wanted_tag || b.wanted_tag);
  const auto end = [](const Choice& c) { return c.at + static_cast<int64_t>(c.bytes); };
  if (a.at >= end(b) || b.at >= end(a)) return false;
  if (a.tag == Choice::kRead && b.tag == Choice::kRead) return false;
  return a.tag != Choice::kFold || b.tag != Choice::kFold || a.wanted_tag != b.wanted_tag;
}

/// The reason why some possibilities are not among the choices.
enum class Limit : uint8_t {
  kNone,
  kSets,     ///< sets of complete requests
  kOutside,  ///< processes of other jobs
};

/// Do two choices that are possible at the same point depend on each other? They do if their order
/// can be observed, because one takes from the other what that could have had. Independent choices
/// lead to the same state in either order: a test that returns some of the requests, or none, does
/// not change what is or becomes complete, and a buffered send can be received as before.
inline bool dependent(const Choice& a, const Choice& b) {
  if (a.kind == Choice::kNoBuffer || b.kind == Choice::kNoBuffer) return true;
  if (a.kind == Choice::kAccess && b.kind == Choice::kAccess && a.rank != b.rank)
    return conflict(a, b);
  return a.rank == b.rank && (a.same_operation(b) || covers(a, b) || covers(b, a));
}

/// A message that came too late for an event that could have matched it instead, or an access that
/// followed one that it conflicts with.
struct Race {
  static constexpr uint32_t kMessage = ~uint32_t{0}, kWaiter = uint32_t{1} << 31;
  uint32_t event = 0;    ///< the event that could have gone differently
  EventSet sender_past;  ///< events that had to happen before the message was sent
  bool early = false;    ///< a rank that continued early could have sent it before the event
  /// The later access; kWaiter + rank: the rank waits for a lock that others hold.
  uint32_t by = kMessage;
  EventSet without{};  ///< waiter: the events that keep the lock from it, `event` first
  bool of_waiter() const { return by >= kWaiter && by != kMessage; }
};

}  // namespace fgmpi::explore
