// Arrivals at meetings: finding or opening a meeting, running its action, releasing its members.

#include "comm/meeting.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/reserve.h"
#include "base/strings.h"
#include "comm/before_complete.h"
#include "comm/broken.h"
#include "comm/debug_names.h"
#include "comm/extras.h"
#include "comm/meeting_decider.h"
#include "proclet-sched/coroutine/call_count.h"
#include "proclet-sched/coroutine/prefetch.h"

namespace fgmpi::comm {

void (*g_before_complete)(pt2pt::Request* request) = nullptr;
MeetingDecider* g_meeting_decider = nullptr;

namespace {

/// The pool of unused meetings: as many as were open at once of late, and a few more.
Meeting* g_pool = nullptr;
ReserveCount g_reserve;  ///< counts the meetings in the pool
constexpr uint32_t kKeptMeetings = 256;

Meeting* take() {
  Meeting* m = g_pool;
  if (__builtin_expect(m == nullptr, 0)) return new Meeting;
  g_pool = m->next;
  g_reserve.take();
  return m;
}

/// Trims the pool (sched.h). A trim begins at twice what it leaves: else meetings that are returned
/// to a trimmed pool would each time seem to be more to free.
bool trim_meetings() {
  uint32_t excess = g_reserve.release_excess(kKeptMeetings, 2 * kKeptMeetings);
  for (; excess > 0; --excess) delete std::exchange(g_pool, g_pool->next);
  return g_reserve.has_more_than(2 * kKeptMeetings);
}

void recycle(Meeting* m) {
  m->arrivals = m->last = nullptr;
  m->parked = nullptr;
  if (__builtin_expect(m->end_block != nullptr, 0)) std::exchange(m->end_block, nullptr)(m);
  if (__builtin_expect(!m->status.ok(), 0)) m->status = Status();
  // The memory of one large message must not stay allocated for ever.
  if (m->scratch.capacity() > (4u << 20)) std::vector<uint8_t>().swap(m->scratch);
  m->next = g_pool;
  g_pool = m;
  g_reserve.put();
}

[[gnu::cold, gnu::noinline]] void record_mismatch(Meeting* m, Comm* comm, const char* call) {
  if (!m->status.ok()) return;
  // One MPI call has several codes: those of the short path, and that of meet().
  m->status = std::strcmp(call, m->call) == 0
                  ? error(MPI_ERR_OTHER,
                          "rank %d and rank %d do not give the same amount of data, or kind of "
                          "type or operation: all members of a communicator must agree on them",
                          comm->rank, m->first_rank)
                  : error(MPI_ERR_OTHER,
                          "rank %d is in %s, rank %d in %s: all members of a communicator must "
                          "call the same collectives in the same order",
                          comm->rank, call, m->first_rank, m->call);
}

bool is_new(const OpenMeetings& meetings, uint32_t sequence) {
  return static_cast<int32_t>(sequence - meetings.not_yet[sequence & 1]) >= 0;
}

/// Open meetings that were joined of late. Each member comes to a communicator's meetings one
/// after the other, so its next meeting is mostly behind the one that it joined last. Several
/// members that are at different meetings each find theirs here. An entry is removed when its
/// meeting closes.
struct Recent {
  const OpenMeetings* meetings = nullptr;
  Meeting* meeting = nullptr;
};
Recent g_recent[64];

Recent& recent_of(const OpenMeetings* meetings, uint32_t sequence) {
  return g_recent[(sequence + reinterpret_cast<uintptr_t>(meetings) / sizeof(OpenMeetings)) %
                  std::size(g_recent)];
}

/// Finds the link to the open meeting `sequence`, or the end of the list where there is none. There
/// is no search for members that come to the meetings of a communicator in order, however many of
/// them are open.
Meeting** find_open(OpenMeetings* meetings, uint32_t sequence) {
  Meeting** link = &meetings->oldest[sequence & 1];
  if (!*link || (*link)->sequence == sequence) return link;
  const Recent& before = recent_of(meetings, sequence - kNextOfKind);
  if (before.meetings == meetings && before.meeting->sequence == sequence - kNextOfKind) {
    Meeting* next = before.meeting->next;
    // The meeting in front of a new one is the newest that is open.
    if (next ? next->sequence == sequence : is_new(*meetings, sequence))
      return &before.meeting->next;
  }
  while (*link && (*link)->sequence != sequence) link = &(*link)->next;
  return link;
}

/// Makes a meeting for the caller alone that has failed already.
Meeting* refused_meeting(const Comm* comm, uint32_t sequence, uint8_t operation, const char* call) {
  Meeting* m = take();
  m->sequence = sequence;
  m->round = 0;
  m->arrived = m->leaving = 1;
  m->first_rank = comm->rank;
  m->operation = operation;
  m->full = true;
  m->has_requests = false;
  m->call = call;
  m->shared = comm->shared;
  m->next = nullptr;
  m->status = broken_status(*comm->shared);
  return m;
}

/// Finds the open meeting `sequence` of this communicator, or makes it for the first to arrive.
/// Counts the caller in.
Meeting* join_at(Comm* comm, uint32_t sequence, uint8_t operation, const char* call,
                 const Arrival* arrival = nullptr) {
  SharedComm* shared = comm->shared;
  if (__builtin_expect(!shared->meetings, 0)) {
    if (shared->broken) return refused_meeting(comm, sequence, operation, call);
    shared->meetings.reset(new OpenMeetings);
    sched::add_trimmer(trim_meetings);
  }
  OpenMeetings* meetings = shared->meetings.get();
  Meeting** link = find_open(meetings, sequence);
  Meeting* m = *link;
  if (m == nullptr) {
    m = take();
    m->sequence = sequence;
    m->round = 0;
    m->arrived = 0;
    m->leaving = shared->members;
    m->first_rank = comm->rank;
    m->operation = m->inline_operation = operation;
    if (__builtin_expect(g_meeting_decider != nullptr, 0)) m->inline_operation = kNoOperation;
    m->full = m->has_requests = false;
    m->call = call;
    m->shared = shared;
    m->next = nullptr;
    *link = m;
    if (is_new(*meetings, sequence)) meetings->not_yet[sequence & 1] = sequence + kNextOfKind;
  } else if (__builtin_expect(m->operation != operation, 0)) {
    record_mismatch(m, comm, call);
  }
  Recent& recent = recent_of(meetings, sequence);
  recent = {meetings, m};
  if (++m->arrived == shared->members) {
    recent = {};  // the meeting is open no more
    m->full = true;
    *link = m->next;
  }
  if (__builtin_expect(g_meeting_decider != nullptr, 0))
    g_meeting_decider->record_arrival(comm, m, operation, arrival);
  return m;
}

/// The number of members that have arrived at a meeting.
uint32_t arrived_at(const SharedComm* shared, uint32_t sequence) {
  const Meeting* m = shared->meetings ? *find_open(shared->meetings.get(), sequence) : nullptr;
  return m ? m->arrived : 0;
}

void append_arrival(Meeting* m, Arrival* mine) {
  mine->next = nullptr;
  if (m->last)
    m->last->next = mine;
  else
    m->arrivals = mine;
  m->last = mine;
}

MeetingAction g_on_mismatch = nullptr;

void run_nonblocking(void* argument) {
  Meeting* m = static_cast<Meeting*>(argument);
  run_action(m->shared, m, m->action);
  release(m);
}

/// Completes the requests. Each completion may delete the request that the arrival lives in; the
/// last may free the communicator.
void complete_requests(Meeting* m) {
  Arrival* a = m->arrivals;
  m->arrivals = m->last = nullptr;
  while (a) {
    Arrival* next = a->next;
    if (pt2pt::Request* request = a->request) {
      --m->leaving;
      request->outcome.error = m->status.ok() ? std::move(a->status) : copy_status(m->status);
      if (__builtin_expect(g_before_complete != nullptr, 0)) g_before_complete(request);
      request->set_complete();
    }
    a = next;
  }
}

}  // namespace

void run_action(SharedComm* shared, Meeting* m, MeetingAction action) {
  try {
    if (__builtin_expect(m->status.ok(), 1))
      action(shared, m);
    else if (g_on_mismatch)
      g_on_mismatch(shared, m);
  } catch (const std::bad_alloc&) {
    m->status = error(MPI_ERR_NO_MEM, "no memory is left for it at a process of %u of its ranks",
                      shared->members);
  }
}

void set_mismatch_handler(MeetingAction handler) { g_on_mismatch = handler; }

void fail_everywhere(SharedComm* shared, Meeting* meeting, const Status& status) {
  meeting->status = copy_status(status);
  if (g_on_mismatch) g_on_mismatch(shared, meeting);
}

const CompletedCollective* find_completed(const SharedComm* shared, uint32_t round, int32_t tag,
                                          int32_t mask) {
  if (!shared->meetings || !shared->meetings->completed) return nullptr;
  const OpenMeetings::Completed& ring = *shared->meetings->completed;
  for (size_t i = 0; i < std::size(ring.last); ++i) {
    const CompletedCollective& c = ring.last[i];
    if (c.tag >= 0 && ring.round[i] == round % 32 && ((c.tag ^ tag) & ~mask) == 0) return &c;
  }
  return nullptr;
}

namespace {
/// Takes one of the meetings that are open, or returns nullptr.
Meeting* pop_open(OpenMeetings* meetings) {
  Meeting*& oldest = meetings->oldest[meetings->oldest[0] ? 0 : 1];
  Meeting* m = oldest;
  if (!m) return nullptr;
  oldest = m->next;
  if (Recent& recent = recent_of(meetings, m->sequence); recent.meeting == m) recent = {};
  return m;
}
}  // namespace

void DeleteMeetings::operator()(OpenMeetings* meetings) const { delete meetings; }

OpenMeetings::~OpenMeetings() {
  // Meetings that are still open were left by members that did not complete a collective (the job
  // is ending). Nobody waits in them any more.
  while (Meeting* m = pop_open(this)) recycle(m);
}

void describe(const Comm* comm, const Meeting* m, std::string* out) {
  std::string name = name_of(comm);
  if (name.empty()) name = format("0x%08x", static_cast<unsigned>(comm->handle));
  *out += format("communicator %s (rank %d of %d), %s number %u: ", name.c_str(), comm->rank,
                 comm->size(), m->sequence & 1 ? "nonblocking collective" : "collective",
                 m->sequence / kNextOfKind);
  if (m->full)
    *out += "all members of this process are there, other processes are not done";
  else
    *out += format("%u of %u members of this process are there, %u missing", m->arrived,
                   m->shared->members, m->shared->members - m->arrived);
}

Status copy_status(const Status& status) {
  return status.ok() ? Status() : Status(status.error_class(), status.what());
}

void fail_open_meetings(SharedComm* shared, const Status& status) {
  // Without meetings, every later arrival runs into the branch that makes the first one (join_at),
  // which refuses it.
  const auto meetings = std::move(shared->meetings);
  if (!meetings) return;
  while (Meeting* m = pop_open(meetings.get())) {
    m->next = nullptr;
    m->full = true;
    m->leaving -= shared->members - m->arrived;  // members that will not arrive
    m->status = copy_status(status);
    release(m);
  }
}

Meeting* detail::join_first_or_last(Comm* comm, uint8_t operation, const char* call) {
  sched::count_call();  // the only member never waits
  const uint32_t sequence = std::exchange(comm->sequence, comm->sequence + kNextOfKind);
  return join_at(comm, sequence, operation, call);
}

/// The stacks of so many members are not in the caches: 600 bytes of each are in use.
constexpr uint32_t kManyMembers = 512;

void wait(Comm* comm, Meeting* meeting, const char* call) {
  MeetingSite site;
  site.call = call;
  site.describe = MeetingSite::describe_site;
  site.comm = comm;
  site.meeting = meeting;
  sched::Proclet* me = sched::current();
  me->next = meeting->parked;
  meeting->parked = me;
  sched::park(&site);
  if (comm->shared->members >= kManyMembers) sched::prefetch_ready();
}

void wake(Meeting* meeting) {
  sched::Proclet* p = meeting->parked;
  meeting->parked = nullptr;
  // The latest to park is woken first: what ran last is still in the caches.
  while (p) {
    sched::Proclet* next = p->next;
    if (next) __builtin_prefetch(next, 1);
    sched::ready(p);
    p = next;
  }
}

void release(Meeting* meeting) {
  if (__builtin_expect(meeting->has_requests, 0)) complete_requests(meeting);
  wake(meeting);
  if (meeting->leaving == 0) recycle(meeting);
}

Status detail::leave_last_or_failed(Meeting* meeting) {
  Status status;
  if (__builtin_expect(!meeting->status.ok(), 0)) status = copy_status(meeting->status);
  if (--meeting->leaving == 0) recycle(meeting);
  return status;
}

Status meet(Comm* comm, Arrival* mine, uint8_t operation, const char* call, MeetingAction action) {
  mine->comm = comm;
  mine->rank = comm->rank;
  mine->proclet = sched::current();
  mine->request = nullptr;
  Meeting* m = join(comm, operation, call);
  append_arrival(m, mine);
  if (m->full) {
    run_action(comm->shared, m, action);
    release(m);
  } else {
    wait(comm, m, call);
  }
  FGMPI_TRY(leave(m));
  return std::move(mine->status);
}

Status meet_nonblocking_at(Comm* comm, uint32_t sequence, uint32_t round, Arrival* mine,
                           uint8_t operation, const char* call, MeetingAction action,
                           pt2pt::Request* request) {
  mine->comm = comm;
  mine->rank = comm->rank;
  mine->proclet = nullptr;
  mine->request = request;
  // The last member to arrive needs a helper for the action. Without one it counts as not arrived:
  // the others go on waiting for it, as if it had not called.
  if (arrived_at(comm->shared, sequence) + 1 == comm->shared->members)
    FGMPI_TRY(sched::ensure_helper());
  Meeting* m = join_at(comm, sequence, operation, call, mine);
  m->round = round;
  append_arrival(m, mine);
  mine->meeting = m;
  m->has_requests = true;
  if (__builtin_expect(m->full && !m->status.ok() && comm->shared->broken, 0)) {
    release(m);
  } else if (m->full) {
    m->action = action;
    sched::spawn_helper(sched::current(), run_nonblocking, m);
  }
  return Status();
}

Status meet_nonblocking(Comm* comm, Arrival* mine, uint8_t operation, const char* call,
                        MeetingAction action, pt2pt::Request* request) {
  FGMPI_TRY(meet_nonblocking_at(comm, comm->nonblocking_sequence, 0, mine, operation, call, action,
                                request));
  comm->nonblocking_sequence += kNextOfKind;
  return {};
}

Status meet_as_blocking(Comm* comm, Arrival* mine, uint8_t operation, const char* call,
                        MeetingAction action, pt2pt::Request* request) {
  FGMPI_TRY(meet_nonblocking_at(comm, comm->sequence, 0, mine, operation, call, action, request));
  comm->sequence += kNextOfKind;
  return {};
}

}  // namespace fgmpi::comm
