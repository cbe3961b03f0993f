// Meeting: level one of every collective. The collocated members of a communicator arrive at a
// meeting with a description of their arguments. The last to arrive runs the meeting's action for
// all of them: it alone exchanges messages with other processes and moves all members' data. Then
// it releases the others.
//
//   member 0: Arrival{rank, args} --+
//   member 1: Arrival{rank, args} --+--> Meeting #sequence of the SharedComm --> the last one runs the action
//   member 2: Arrival{rank, args} --+
//
// No messages, no copies of arguments: an Arrival lives on its member's stack (blocking) or in its
// request (nonblocking: then the action runs on a helper coroutine and completes the requests; the
// same code). Several meetings of one communicator may be open (nonblocking collectives): each has
// the sequence number that all members count in step (Comm::sequence). A persistent collective
// keeps the number of its initialisation, so that its starts may come in any order.
//
// Two interfaces. meet() takes an Arrival. The short path (join, then wait or release, then leave)
// takes none: a barrier and collectives of few bytes copy a member's contribution into
// Meeting::scratch when it arrives and the result out of it before it leaves, so that a member's
// memory is touched only while that member runs. A member that fetches nothing may leave before
// others have arrived.
//
// Thread rule: one thread. Invariants: a meeting closes when SharedComm::members have arrived; its
// action runs once; waiting proclets are chained through Proclet::next; a meeting returns to the
// process's pool when the last member has left, so steady state allocates nothing. Used by src/comm
// (creation) and src/coll (everything else).
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
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
  const Meeting* meeting = nullptr;   ///< while it is open
  Status status;                      ///< the action's result for this member
};

/// What to do once all collocated members are there. Runs on the last arriver's stack (blocking) or
/// on a helper; may switch. meeting->arrivals: chain in order of arrival, meeting->arrived long.
using MeetingAction = void (*)(SharedComm* shared, Meeting* meeting);

/// Operation codes: which collective a member is in. src/coll has those below kFirstOther.
inline constexpr uint8_t kFirstOther = 160;
/// No operation: members that would join in line are all sent to where a decider is told.
inline constexpr uint8_t kDecided = 255;

struct Meeting {
  uint32_t sequence = 0;
  uint32_t round = 0;  ///< of a persistent collective: how often it had been started before
  uint32_t arrived = 0;
  uint32_t leaving = 0;     ///< members that have yet to leave
  int32_t first_rank = -1;  ///< who came first, for reports
  /// Which collective the first arrival is in: a mismatch is an error, named; kDecided: see
  /// decided_operation.
  uint8_t operation = 0;
  /// Where somebody decides (pt2pt/decider.h), it stands here until all have come.
  uint8_t decided_operation = 0;
  bool full = false;          ///< everybody is there; the action runs or has run
  bool has_requests = false;  ///< some members came without waiting
  const char* call = "";      ///< its name, for the deadlock report
  Arrival* arrivals = nullptr;
  Arrival* last = nullptr;
  sched::Proclet* parked = nullptr;  ///< who waits for the release, latest first
  Meeting* next = nullptr;           ///< open meetings of the same communicator, or the pool
  SharedComm* shared = nullptr;
  MeetingAction action = nullptr;  ///< nonblocking: what the helper is to run
  Status status;                   ///< a mismatch, or the result on the short path: of all members
  std::vector<uint8_t> scratch;    ///< short path: contributions and result; kept for the next user
  std::vector<int32_t> ranks;      ///< short path: the rank that contributed each slot
  // Short path: the values that members must agree on, as the first to arrive gave them.
  int32_t root = 0;
  int32_t op = 0;
  size_t bytes = 0;
  // A gather or scatter on the short path (src/coll/rooted.cc).
  const void* side = nullptr;  ///< the root's buffer argument, once others may use it
  size_t used = 0;             ///< of scratch, by members' records
  bool root_here = false;      ///< the root has arrived in this process
  bool done = false;           ///< gather: the parts of all members have been taken
  bool laid_out = false;       ///< scatter: scratch has the parts of this process
  // A duplicate of a communicator, on the short path (create.cc).
  RankState* least = nullptr;                  ///< the member so far that has led least
  std::optional<groupmap::Strategy> strategy;  ///< how the first wants an irregular map stored
  SharedComm* made = nullptr;                  ///< the result
  /// A system-ranked split: its members so far (system_ranked/split.cc).
  std::shared_ptr<void> gathering;
};

/// A collective between processes that was completed here: what its messages are told by, and what
/// its members agreed on (coll/failure.h).
struct CompletedCollective {
  int32_t tag = -1;
  uint32_t signature = 0;
};

/// Where the meetings of a communicator are found: only those that are not full yet.
struct OpenMeetings {
  Meeting* open = nullptr;  ///< oldest first
  Meeting** end = &open;    ///< where the next one goes
  uint32_t count = 0;       ///< of them
  uint32_t not_yet = 0;     ///< no meeting with this sequence number or a later one has been opened
  /// The last collectives between processes, a ring; where there were any.
  struct Completed {
    CompletedCollective last[4];
    uint8_t round[4];  ///< of each of them, modulo 32
    uint32_t next = 0;
  };
  std::unique_ptr<Completed> completed;
  OpenMeetings() = default;
  OpenMeetings(const OpenMeetings&) = delete;
  ~OpenMeetings();
};
static_assert(sizeof(OpenMeetings) <= 128,
              "memory budget: part of a communicator's 512 bytes a process");

/// Joins the meeting of this member's next collective and returns when it has been released. May
/// switch. `operation`: a small code of the collective; members that meet with different codes all
/// get MPI_ERR_OTHER: "rank 3 is in MPI_Bcast, rank 0 in MPI_Barrier".
Status meet(Comm* comm, Arrival* mine, uint8_t operation, const char* call, MeetingAction action);

/// Nonblocking: the arrival lives in `request`, which completes (outcome.error is the result) when
/// the action has run. Never switches. MPI_ERR_NO_MEM when there is no coroutine for the action to
/// be had: the member has then not come, and may come later.
Status meet_nonblocking(Comm* comm, Arrival* mine, uint8_t operation, const char* call,
                        MeetingAction action, pt2pt::Request* request);
/// The same in the meeting `sequence` (persistent collectives: the number drawn at initialisation;
/// `round`: how often it was started before).
Status meet_nonblocking_at(Comm* comm, uint32_t sequence, uint32_t round, Arrival* mine,
                           uint8_t operation, const char* call, MeetingAction action,
                           pt2pt::Request* request);

/// The short path: what meet() does when the last member has come, action or mismatch handler.
/// Memory that cannot be had becomes the meeting's error.
void run_action(SharedComm* shared, Meeting* meeting, MeetingAction action);

/// Called instead of the action where members of this process are in different collectives.
void set_mismatch_handler(MeetingAction handler);
/// The same, for an action that is about to return with an error that the other processes must
/// learn of: sets meeting->status. Never switches.
void fail_everywhere(SharedComm* shared, Meeting* meeting, const Status& status);

/// Keeps the last few. REQUIRES: a meeting of it has been held here.
inline void remember_completed(SharedComm* shared, uint32_t round, int32_t tag,
                               uint32_t signature) {
  std::unique_ptr<OpenMeetings::Completed>& ring = shared->meetings->completed;
  if (__builtin_expect(!ring, 0)) ring = std::make_unique<OpenMeetings::Completed>();
  const uint32_t place = ring->next++ % std::size(ring->last);
  ring->last[place] = {tag, signature};
  ring->round[place] = static_cast<uint8_t>(round % 32);
}
/// One of them, or nullptr; `mask`: bits of the tag that do not matter.
const CompletedCollective* find_completed(const SharedComm* shared, uint32_t round, int32_t tag,
                                          int32_t mask = 0);

// ---- The short path -----------------------------------------------------------------------------
namespace detail {
Meeting* join_first_or_last(Comm* comm, uint8_t operation, const char* call);
Status leave_last_or_failed(Meeting* meeting);
}  // namespace detail

/// Joins the next meeting: the caller's place in it is meeting->arrived - 1; meeting->full: it is
/// the last and must call release() once it has acted. Never switches.
inline Meeting* join(Comm* comm, uint8_t operation, const char* call) {
  const OpenMeetings* meetings = comm->shared->meetings.get();
  Meeting* m = meetings ? meetings->open : nullptr;
  // A member that need not wait may be one collective ahead
  if (m && m->sequence != comm->sequence) m = m->next;
  if (__builtin_expect(m != nullptr && m->sequence == comm->sequence && m->operation == operation &&
                           m->arrived + 1 < comm->shared->members,
                       1)) {
    ++comm->sequence;
    ++m->arrived;
    return m;
  }
  return detail::join_first_or_last(comm, operation, call);
}
/// Parks until the meeting is released. May switch. REQUIRES: !meeting->full when the caller
/// joined.
void wait(Comm* comm, Meeting* meeting, const char* call);
/// Wakes everybody who waits, before all are there or again after a release. Never switches.
void wake(Meeting* meeting);
/// Completes the requests and wakes everybody who waits. Never switches. The meeting must not be
/// touched afterwards but by members that have yet to leave. Once more does nothing more.
void release(Meeting* meeting);
/// The member is done with the meeting; the last one returns it to the pool. Returns the meeting's
/// status.
inline Status leave(Meeting* meeting) {
  if (__builtin_expect(meeting->leaving > 1 && meeting->status.ok(), 1)) {
    --meeting->leaving;
    return {};
  }
  return detail::leave_last_or_failed(meeting);
}

/// The communicator is broken (broken.h): members that wait for others leave with this error, and
/// so does, from now on, whoever comes. Never switches.
void fail_open_meetings(SharedComm* shared, const Status& status);

/// For reports: "communicator MPI_COMM_WORLD (rank 0 of 4), collective number 7: 3 of 4 members of
/// this process ...".
void describe(const Comm* comm, const Meeting* meeting, std::string* out);

/// A copy of a status, for another member: Status itself can only be moved.
Status copy_status(const Status& status);

}  // namespace fgmpi::comm
