// Meeting: level one of every collective. Each collocated member of a communicator arrives at a
// meeting with a description of its arguments. The last to arrive runs the meeting's action for all
// members: it alone exchanges messages with other processes and moves all members' data. Then it
// releases the others.
//
//   member 0: Arrival{rank, args} --+
//   member 1: Arrival{rank, args} --+--> Meeting #sequence of the SharedComm
//   member 2: Arrival{rank, args} --+        the last to arrive runs the action
//
// Members of a process exchange no messages and copy no arguments: an Arrival lives on its member's
// stack (blocking) or in its request (nonblocking: then the action runs on a helper coroutine and
// completes the requests, with the same code). Several meetings of one communicator may be open
// (nonblocking collectives): each has a sequence number, which all members count in step. A
// persistent collective uses the number of its initialisation at each start, so that its starts may
// come in any order.
//
// Blocking collectives have even numbers, nonblocking and persistent ones odd numbers
// (Comm::sequence, Comm::nonblocking_sequence). The two kinds never match each other (MPI-4.0
// section 6.12), so each is counted for itself: both meet, within a process and between processes,
// whether members call the blocking or the nonblocking one first.
//
// Meetings have two interfaces. meet() needs an Arrival. The short path (join, then wait or
// release, then leave) needs none: in a barrier and in collectives of few bytes, a member copies
// its contribution into Meeting::scratch when it arrives, and the result out of it before it
// leaves, so that a member's memory is touched only while that member runs. A member that fetches
// no result may leave before others have arrived.
//
// What one collective of the short path keeps in its meeting is a type of that collective's file,
// in Meeting::block: the first member to arrive begins the block, later ones use it.
//
// Thread rule: one thread. Invariants: a meeting closes when SharedComm::members have arrived; its
// action runs once; waiting proclets are chained through Proclet::next; a meeting returns to the
// process's pool when the last member has left, so steady state allocates nothing. Used by src/comm
// (creation) and src/coll (all other collectives).
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/comm.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::comm {

struct Meeting;

/// A collective's per-member arguments derive from this.
struct Arrival {
  Arrival* next = nullptr;  ///< chain of a meeting, in order of arrival
  Comm* comm = nullptr;
  int32_t rank = -1;
  sched::Proclet* proclet = nullptr;  ///< parked here until released; nullptr: nonblocking
  pt2pt::Request* request = nullptr;  ///< completed at release; nullptr: blocking
  const Meeting* meeting = nullptr;   ///< set while it is open
  Status status;                      ///< the action's result for this member
};

/// What the last member to arrive does for all collocated members. An action runs on that member's
/// stack (blocking) or on a helper, and may switch. meeting->arrivals is the chain in order of
/// arrival; its length is meeting->arrived.
using MeetingAction = void (*)(SharedComm* shared, Meeting* meeting);

/// The first operation code outside src/coll, whose collectives have the codes below it.
inline constexpr uint8_t kFirstOther = 160;
/// The code of no operation: no member joins a meeting with this inline_operation in line.
inline constexpr uint8_t kNoOperation = 255;

struct Meeting {
  uint32_t sequence = 0;  ///< odd: of a nonblocking or persistent collective
  uint32_t round = 0;     ///< of a persistent collective: how often it had been started before
  uint32_t arrived = 0;
  uint32_t leaving = 0;     ///< members that have yet to leave
  int32_t first_rank = -1;  ///< rank of the first to arrive, for reports
  /// The collective that the first arrival is in. A member in another one is an error that names
  /// both.
  uint8_t operation = 0;
  /// What join() compares in line with a member's operation: `operation`, or kNoOperation, with
  /// which every member joins out of line.
  uint8_t inline_operation = 0;
  bool full = false;          ///< all members have arrived; the action runs or has run
  bool has_requests = false;  ///< some members have arrived by a request and do not wait
  const char* call = "";      ///< name of the MPI call, for the deadlock report
  Arrival* arrivals = nullptr;
  Arrival* last = nullptr;
  sched::Proclet* parked = nullptr;  ///< proclets that wait for the release, latest first
  Meeting* next = nullptr;           ///< next open meeting of the communicator, or in the pool
  SharedComm* shared = nullptr;
  MeetingAction action = nullptr;  ///< nonblocking: what the helper runs
  Status status;                   ///< of all members: a mismatch, or the short path's result
  std::vector<uint8_t> scratch;    ///< short path: contributions and result; its memory is reused
  /// Short path: what the collective keeps here, as an object of its own type (begin_block()). The
  /// memory is no array of bytes, as the compiler would then assume that a store of any type may
  /// change any member of the meeting.
  uint64_t block[4] = {};
  /// Called before the meeting returns to the pool, if the collective set it: releases what the
  /// block owns.
  void (*end_block)(Meeting* meeting) = nullptr;
};
static_assert(sizeof(Meeting) <= 152, "memory budget: a collective under way");

/// Makes the object that a collective of the short path keeps in its meeting. Called by the first
/// member to arrive (meeting->arrived == 1). The object has no destructor: a collective that
/// allocates something sets Meeting::end_block.
template <class T, class... Values>
T* begin_block(Meeting* meeting, Values&&... values) {
  static_assert(sizeof(T) <= sizeof meeting->block && alignof(T) <= alignof(uint64_t));
  static_assert(std::is_trivially_destructible_v<T>);
  return ::new (meeting->block) T{std::forward<Values>(values)...};
}
/// Returns the object that begin_block() made. REQUIRES: this member began the block, or
/// meeting->status was ok when it joined; else the first member may be in another collective, whose
/// block has another type.
template <class T>
T* block_of(Meeting* meeting) {
  return reinterpret_cast<T*>(meeting->block);
}
template <class T>
const T* block_of(const Meeting* meeting) {
  return reinterpret_cast<const T*>(meeting->block);
}

/// A collective between processes that this process has completed: the tag that identifies its
/// messages, and the signature on which its members agreed (coll/failure.h).
struct CompletedCollective {
  int32_t tag = -1;
  uint32_t signature = 0;
};

/// What src/coll keeps of a communicator from its first collectives on: its board (coll/board.h).
struct CollectiveExtras {
  virtual ~CollectiveExtras() = default;
};

/// The meetings of a communicator that are not full yet: those of blocking collectives, which have
/// even sequence numbers, and those of nonblocking and persistent ones, which have odd numbers.
struct OpenMeetings {
  Meeting* oldest[2] = {};  ///< of each kind: a list in the order in which they were opened
  /// No meeting of the kind with this sequence number or a later one has been opened yet.
  uint32_t not_yet[2] = {};
  /// A ring of the last collectives between processes; allocated with the first of them.
  struct Completed {
    CompletedCollective last[4];
    uint8_t round[4];  ///< of each of them, modulo 32
    uint32_t next = 0;
  };
  std::unique_ptr<Completed> completed;
  std::unique_ptr<CollectiveExtras> extras;
  OpenMeetings() = default;
  OpenMeetings(const OpenMeetings&) = delete;
  ~OpenMeetings();
};
static_assert(sizeof(OpenMeetings) <= 128,
              "memory budget: part of a communicator's 512 bytes a process");

/// Joins the meeting of this member's next collective and returns when it has been released. May
/// switch. `operation` is a small code of the collective; members that meet with different codes
/// all get MPI_ERR_OTHER: "rank 3 is in MPI_Bcast, rank 0 in MPI_Barrier".
Status meet(Comm* comm, Arrival* mine, uint8_t operation, const char* call, MeetingAction action);

/// As meet() without blocking: the arrival lives in `request`, which completes (outcome.error is
/// the result) when the action has run. Never switches. Errors: MPI_ERR_NO_MEM when no coroutine
/// can be had for the action: the member has then not arrived, and may call again later.
Status meet_nonblocking(Comm* comm, Arrival* mine, uint8_t operation, const char* call,
                        MeetingAction action, pt2pt::Request* request);
/// As meet_nonblocking(), in the meeting `sequence` (persistent collectives: the number drawn at
/// initialisation; `round`: how often it was started before).
Status meet_nonblocking_at(Comm* comm, uint32_t sequence, uint32_t round, Arrival* mine,
                           uint8_t operation, const char* call, MeetingAction action,
                           pt2pt::Request* request);

/// As meet_nonblocking(), but it matches blocking collectives.
Status meet_as_blocking(Comm* comm, Arrival* mine, uint8_t operation, const char* call,
                        MeetingAction action, pt2pt::Request* request);

/// Does on the short path what meet() does when the last member has arrived: runs the action or the
/// mismatch handler. A failed allocation becomes the meeting's error.
void run_action(SharedComm* shared, Meeting* meeting, MeetingAction action);

/// Sets the function that is called instead of the action where members of this process are in
/// different collectives.
void set_mismatch_handler(MeetingAction handler);
/// Calls the mismatch handler for an action that is about to return with an error that the other
/// processes must learn of. Sets meeting->status. Never switches.
void fail_everywhere(SharedComm* shared, Meeting* meeting, const Status& status);

/// Stores a completed collective in the ring, over the oldest. REQUIRES: this process has held a
/// meeting of the communicator.
inline void remember_completed(SharedComm* shared, uint32_t round, int32_t tag,
                               uint32_t signature) {
  std::unique_ptr<OpenMeetings::Completed>& ring = shared->meetings->completed;
  if (__builtin_expect(!ring, 0)) ring = std::make_unique<OpenMeetings::Completed>();
  const uint32_t place = ring->next++ % std::size(ring->last);
  ring->last[place] = {tag, signature};
  ring->round[place] = static_cast<uint8_t>(round % 32);
}
/// Finds a completed collective in the ring, or nullptr; `mask`: bits of the tag that are ignored.
const CompletedCollective* find_completed(const SharedComm* shared, uint32_t round, int32_t tag,
                                          int32_t mask = 0);

// ---- The short path -----------------------------------------------------------------------------
namespace detail {
Meeting* join_first_or_last(Comm* comm, uint8_t operation, const char* call);
Status leave_last_or_failed(Meeting* meeting);
}  // namespace detail

/// Joins the next meeting: the caller is number meeting->arrived - 1 in order of arrival.
/// meeting->full: it is the last and must call release() once it has acted. May switch before it
/// joins (proclet-sched/coroutine/call_count.h).
inline Meeting* join(Comm* comm, uint8_t operation, const char* call) {
  const OpenMeetings* meetings = comm->shared->meetings.get();
  Meeting* m = meetings ? meetings->oldest[0] : nullptr;
  // A member that need not wait may be one collective ahead.
  if (m && m->sequence != comm->sequence) m = m->next;
  if (__builtin_expect(m != nullptr && m->sequence == comm->sequence &&
                           m->inline_operation == operation &&
                           m->arrived + 1 < comm->shared->members,
                       1)) {
    comm->sequence += kNextOfKind;
    ++m->arrived;
    return m;
  }
  return detail::join_first_or_last(comm, operation, call);
}
/// Parks until the meeting is released. May switch. REQUIRES: !meeting->full when the caller
/// joined.
void wait(Comm* comm, Meeting* meeting, const char* call);
/// Wakes every member that waits in the meeting, also before all have arrived or after a release.
/// Never switches.
void wake(Meeting* meeting);
/// Completes the requests and wakes everybody who waits. Never switches. Afterwards only members
/// that have yet to leave may touch the meeting. A second call does nothing.
void release(Meeting* meeting);
/// Ends the member's use of the meeting; the last one returns it to the pool. Returns the
/// meeting's status.
inline Status leave(Meeting* meeting) {
  if (__builtin_expect(meeting->leaving > 1 && meeting->status.ok(), 1)) {
    --meeting->leaving;
    return {};
  }
  return detail::leave_last_or_failed(meeting);
}

/// Ends the meetings of a communicator that is broken (broken.h): members that wait for others
/// leave with this error, and so does every member that arrives from now on. Never switches.
void fail_open_meetings(SharedComm* shared, const Status& status);

/// For reports: "communicator MPI_COMM_WORLD (rank 0 of 4), collective number 7: 3 of 4 members of
/// this process ...".
void describe(const Comm* comm, const Meeting* meeting, std::string* out);

/// A copy of a status, for another member: Status itself can only be moved.
Status copy_status(const Status& status);

}  // namespace fgmpi::comm
