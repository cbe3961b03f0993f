// What the checkers of a job's processes send each other, in notices of their own
// (MPIX_Tool_notify) or as pieces of one of several pieces (outbox.h):
//
//   message       the sender's process to the receiver's, before the message itself
//   clock         before it: more of what its sender knew than fits
//   again         one more message of a call of which the same process was told by a message
//   back          the same message was cancelled
//   announcement  the first call of a process of a collective, to the process of the communicator's
//                 rank 0
//   question      what was sent before has been looked at?
//   answer        yes
//   parts         what members send to each rank of a process in a call whose counts differ by
//                 rank, to that process
//   edges         what members of a neighbourhood collective send to ranks of a process, to that
//                 process; of their first call on the communicator also what they take from them
//   partitioned   a partitioned send was made, to the receiver's process
//   started       it was started for the first time
//   progress      how far ranks are where no standard send is buffered (progress.h)
//   claim         what the first member of a group and part here gives to a collective of an
//                 intercommunicator, to its home
//   called        all members of a process have made that call, to the home
//   leader        the leader of a group calls MPI_Intercomm_create, to the process of the other
//                 group's leader
//   several       pieces of these kinds: again, announcement, parts, edges, progress, claim,
//                 called, leader
//
// Kinds are told apart by their first byte. All processes run the same library; a record of another
// size is dropped.
#pragma once

#include <cstddef>

#include "check/outbox.h"
#include "check/parts.h"
#include "check/progress.h"
#include "check/rank.h"

namespace fgmpi::check {

enum class WireKind : uint8_t {
  kMessage = 1,
  kClock,
  kBack,
  kAnnouncement,
  kQuestion,
  kAnswer,
  kParts,
  kProgress,
  kPartitioned,
  kStarted,
  kEdges,
  kSeveral,
  kClaim,
  kCalled,
  kLeader,
  kAgain
};

struct WireMessage {
  WireKind kind;
  bool standard, known, packed;
  bool begun;  ///< as if no standard send were buffered, too
  int32_t source, tag, source_world, receiver;
  int32_t from;  ///< process
  /// What later messages of the call are told as; 0: there is no WireAgain of it.
  uint32_t told_as;
  uint64_t comm, id, hash, length;
  int64_t bytes;
  Knowledge::Near near;
  uint32_t parts;  ///< of the clock; the record ends behind them
  CallRecord call;
  ClockPart clock[36];
};

/// A message that differs from the last one of WireMessage::told_as in nothing but this. It has no
/// clock.
struct WireAgain {
  WireKind kind = WireKind::kAgain;
  bool begun = false;
  int32_t from = 0;
  uint64_t told_as = 0;
  uint64_t id = 0;
  Knowledge::Near near;
};

struct WirePartitioned {
  WireKind kind;
  bool known, packed;
  int32_t source, tag, source_world, receiver;
  uint64_t comm, id, hash, length;
  int64_t bytes;
  CallRecord call;
};

struct WireBack {
  WireKind kind;
  int32_t receiver;
  uint64_t comm, id;
};

/// What all members of a communicator must agree on in one collective call.
struct Announcement {
  WireKind kind = WireKind::kAnnouncement;
  bool known = true, packed = false;  ///< of the signature
  bool rooted = false;                ///< `root` counts
  bool inter = false;
  int32_t world = 0;  ///< of the rank that says so
  int32_t root = 0, op = 0;
  uint64_t comm = 0, number = 0;  ///< the communicator and the how manieth call on it
  uint64_t hash = 0, length = 0;
  CallRecord call;
};

/// Rows of Parts (rows.h), which follow it.
struct WireParts {
  WireKind kind = WireKind::kParts;
  PartsShape shape;
  int32_t world_minus_sender = 0;  ///< the same for all senders here
  uint32_t last = 0;               ///< where the last row stands, from the end of this
  uint64_t comm = 0, number = 0;
  CallRecord call;
};

/// What a rank gives another in a neighbourhood collective.
struct WireEdge {
  uint64_t between = 0;  ///< ranks in the communicator: from << 32 | to
  uint64_t sum = 0;      ///< of hashes of signatures, one for each edge from one to the other
  bool known = true;     ///< all their signatures are
  bool sent = true;      ///< the one who gives says so, not the one who takes
  int32_t world = 0;     ///< of the one who says so
};

/// WireEdge that follow it, of members whose calls are reported alike.
struct WireEdges {
  WireKind kind = WireKind::kEdges;
  uint64_t comm = 0, number = 0;
  CallRecord call;
};

/// What a member of an intercommunicator is in a collective: in one without a root, the root,
/// another one of the root's group, one of the other group.
enum class GroupPart : uint8_t { kAll, kRoot, kNone, kOther };

/// What the member gives. Signatures that mean nothing in the call are not known.
struct WireClaim {
  WireKind kind = WireKind::kClaim;
  uint8_t side = 0;
  GroupPart part = GroupPart::kAll;
  int32_t world = 0, rank = 0, root = 0, op = 0;
  uint64_t comm = 0, number = 0;       ///< the key without the side
  Signature both{0, 0, false, false};  ///< the same in both groups
  /// What one sends the other takes.
  Signature sent{0, 0, false, false}, taken{0, 0, false, false};
  Signature within{0, 0, false, false};  ///< the same within a group
  CallRecord call;
};

struct WireCalled {
  WireKind kind = WireKind::kCalled;
  int32_t processes = 0;  ///< that have members
  uint64_t comm = 0, number = 0;
};

struct WireLeader {
  WireKind kind = WireKind::kLeader;
  int32_t from = 0, to = 0;  ///< world ranks: the leader that says so, and the other
  uint64_t comm = 0;         ///< the peer communicator's key without the side
  CallRecord call;
};

struct WireProgress {
  WireKind kind;
  uint32_t count;  ///< of the list; the record ends behind them
  int32_t from;    ///< process
  Progress list[40];
};
inline size_t bytes_of(const WireProgress& wire) {
  return offsetof(WireProgress, list) + wire.count * sizeof(Progress);
}

static_assert(sizeof(WireProgress) <= kMostPiece && sizeof(Announcement) <= kMostPiece);
static_assert(sizeof(WireClaim) <= kMostPiece && sizeof(WireLeader) <= kMostPiece);
static_assert(sizeof(WireParts) + 512 + 128 <= kMostPiece && sizeof(WireEdges) <= 512);
static_assert(sizeof(WirePartitioned) <= kMostNotice && sizeof(WireMessage) <= kMostNotice);

}  // namespace fgmpi::check
