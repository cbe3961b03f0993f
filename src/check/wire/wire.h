// Notices that the checkers of a job's processes send each other (MPIX_Tool_notify). Each is a
// notice of its own, or one of several pieces (outbox.h):
//
//   message       before a message itself: from the sender's process to the receiver's
//   clock         before that, if the sender's clock does not fit into one notice: more of it
//   again         one more message of a call that a notice "message" to the same process described
//   back          that message was cancelled
//   announcement  the first call of a process in a collective, to the process of the
//                 communicator's rank 0
//   question      has everything that was sent before been handled?
//   answer        yes
//   parts         in a call whose counts differ by rank: what members send to each rank of a
//                 process, to that process
//   edges         in a neighbourhood collective: what members send to ranks of a process, to that
//                 process; in their first call on the communicator also what they receive from them
//   partitioned   a partitioned send was made, to the receiver's process
//   started       that send was started for the first time
//   progress      how far ranks are in the unbuffered run (progress.h)
//   claim         in a collective of an intercommunicator: what the first member here of each
//                 group and role gives, to the home of the communicator
//   called        all members of a process have made that call, to the home
//   leader        the leader of a group calls MPI_Intercomm_create, to the process of the other
//                 group's leader
//   several       pieces of these kinds: again, announcement, parts, edges, progress, claim,
//                 called, leader
//
// The first byte of a notice is its kind. All processes run the same library; a notice of an
// unexpected size is dropped.
#pragma once

#include <cstddef>

#include "check/collectives/parts.h"
#include "check/order/progress.h"
#include "check/rank.h"
#include "check/wire/outbox.h"

namespace fgmpi::check {

enum class WireKind : uint8_t {
  kMessage = 1,
  kMessageClock,
  kWithdrawnMessage,
  kLeftEarly,
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
  kRepeatedMessage
};

struct WireMessage {
  WireKind kind;
  bool standard, known, packed;
  bool send_begun;  ///< the send has begun in the unbuffered run as well
  int32_t source, tag, source_world, receiver_world;
  int32_t from;  ///< sender's process
  /// The number under which a WireRepeatedMessage names this call; 0: none will follow.
  uint32_t wire_call_number;
  uint64_t comm, id, hash, length;
  int64_t bytes;
  Knowledge::Near near;
  uint32_t parts;  ///< components in `clock`; the notice ends behind them
  CallRecord call;
  ClockPart clock[36];
};

/// A message that differs from the last WireMessage with the same `wire_call_number` only in these
/// fields. It has no clock.
struct WireRepeatedMessage {
  WireKind kind = WireKind::kRepeatedMessage;
  bool send_begun = false;
  int32_t from = 0;
  uint64_t wire_call_number = 0;
  uint64_t id = 0;
  Knowledge::Near near;
};

struct WirePartitioned {
  WireKind kind;
  bool known, packed;
  int32_t source, tag, source_world, receiver_world;
  uint64_t comm, id, hash, length;
  int64_t bytes;
  CallRecord call;
};

struct WireWithdrawnMessage {
  WireKind kind;
  int32_t receiver_world;
  uint64_t comm, id;
};

/// The values on which all members of a communicator must agree in one collective call.
struct WireAnnouncement {
  WireKind kind = WireKind::kAnnouncement;
  bool known = true, packed = false;  ///< of the signature
  bool rooted = false;                ///< `root` has a meaning
  bool inter = false;
  int32_t world = 0;  ///< the announcing rank
  int32_t root = 0, op = 0;
  uint64_t comm = 0, number = 0;  ///< the communicator, and the number of the call on it
  uint64_t hash = 0, length = 0;
  CallRecord call;
};

/// Followed by rows of DeclaredParts (rows.h).
struct WireParts {
  WireKind kind = WireKind::kParts;
  PartsShape shape;
  int32_t world_minus_sender = 0;  ///< the same for all senders of this piece
  uint32_t last = 0;               ///< distance of the last row from the end of this struct
  uint64_t comm = 0, number = 0;
  CallRecord call;
};

/// What one rank gives another in a neighbourhood collective.
struct WireEdge {
  uint64_t between = 0;  ///< ranks in the communicator: from << 32 | to
  uint64_t sum = 0;      ///< sum of the signatures' hashes, one for each edge between the two
  bool known = true;     ///< all their signatures are known
  bool sent = true;      ///< declared by the sender of the edge, not by its receiver
  int32_t world = 0;     ///< the declaring rank
};

/// Followed by WireEdge of members whose calls look alike in reports.
struct WireEdges {
  WireKind kind = WireKind::kEdges;
  uint64_t comm = 0, number = 0;
  CallRecord call;
};

/// The role of a member of an intercommunicator in a collective: kAll in one without a root; else
/// the root, another member of the root's group, or a member of the other group.
enum class GroupPart : uint8_t { kAll, kRoot, kNone, kOther };

/// What a member gives. Signatures without a meaning in the call are unknown.
struct WireClaim {
  WireKind kind = WireKind::kClaim;
  uint8_t side = 0;
  GroupPart part = GroupPart::kAll;
  int32_t world = 0, rank = 0, root = 0, op = 0;
  uint64_t comm = 0, number = 0;           ///< the communicator's key without the side
  TypeSignature both{0, 0, false, false};  ///< must be the same in both groups
  /// One group's `sent` must match the other group's `taken`.
  TypeSignature sent{0, 0, false, false}, taken{0, 0, false, false};
  TypeSignature within{0, 0, false, false};  ///< must be the same within a group
  CallRecord call;
};

struct WireCalled {
  WireKind kind = WireKind::kCalled;
  int32_t processes = 0;  ///< processes that have members
  uint64_t comm = 0, number = 0;
};

struct WireLeader {
  WireKind kind = WireKind::kLeader;
  /// World ranks: the leader that announces itself, and the other leader.
  int32_t from = 0, to = 0;
  uint64_t comm = 0;  ///< the peer communicator's key without the side
  CallRecord call;
};

/// A rank has entered a call after it knew that another rank had left it.
struct WireLeftEarly {
  WireKind kind = WireKind::kLeftEarly;
  int32_t world = 0, by = 0;  ///< world ranks: the one that enters, and the other
  uint64_t comm = 0, number = 0;
  CallRecord call;
};

struct WireProgress {
  WireKind kind;
  uint32_t count;  ///< elements in `list`; the notice ends behind them
  int32_t from;    ///< sending process
  Progress list[40];
};
inline size_t bytes_of(const WireProgress& wire) {
  return offsetof(WireProgress, list) + wire.count * sizeof(Progress);
}

static_assert(sizeof(WireProgress) <= kMostPiece && sizeof(WireAnnouncement) <= kMostPiece);
static_assert(sizeof(WireClaim) <= kMostPiece && sizeof(WireLeader) <= kMostPiece);
static_assert(sizeof(WireParts) + 512 + 128 <= kMostPiece && sizeof(WireEdges) <= 512);
static_assert(sizeof(WirePartitioned) <= kMostNotice && sizeof(WireMessage) <= kMostNotice);

}  // namespace fgmpi::check
