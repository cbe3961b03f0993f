// Events of the tools interface (MPI-4.0 section 15.3.8): where the bindings raise them.
// tool_event.cc has the functions that tools call.
//
// Without a callback nothing here costs an instruction on the fast paths of sends and receives: the
// first registration for messages closes those paths (comm::close_fast_paths), and only the slower
// paths check for events. Requests whose completion is an event are marked (Request::watched).
// Collectives and new communicators read one word.
//
// An event is raised at the end of the call that causes it, in the calling rank, for that rank's
// registrations alone: its callback may call any function of MPI (MPI_T_CB_REQUIRE_NONE). An event
// that a callback itself causes is dropped for that registration, and its dropped handler is
// called.
//
// Thread rule: one thread. Callbacks may switch.
#pragma once

#include "coll/args.h"
#include "comm/comm.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::mpi::events {

enum ToolEventKind : uint32_t {
  kSendBegun,
  kReceived,
  kCollectiveBegun,
  kCollectiveEnded,
  kCommMade,
  kCommFreed,
  kCount
};

/// One bit for each kind of event for which a rank of the process has a callback, or which is
/// counted (comm_messages.h).
extern uint32_t g_wanted;
/// Computes g_wanted anew. Called when a callback or a count may have begun or ended.
void update_wanted();
inline bool wanted(ToolEventKind kind) { return __builtin_expect(g_wanted >> kind & 1, 0); }

namespace detail {
void send_begun(const comm::Comm* comm, int dest, int tag, int64_t count, MPI_Datatype type);
void received(const comm::Comm* comm, const pt2pt::Outcome& outcome);
void comm_made(const comm::Comm* comm);
void comm_freed(MPI_Comm handle);
void completed(const pt2pt::Request* request);
void started(const pt2pt::Request* request);
}  // namespace detail

inline void raise_send_begun(const comm::Comm* comm, int dest, int tag, int64_t count,
                             MPI_Datatype type) {
  if (wanted(kSendBegun)) detail::send_begun(comm, dest, tag, count, type);
}
inline void raise_received(const comm::Comm* comm, const pt2pt::Outcome& outcome) {
  if (wanted(kReceived)) detail::received(comm, outcome);
}
inline void raise_comm_created(const comm::Comm* comm) {
  if (wanted(kCommMade)) detail::comm_made(comm);
}
inline void raise_comm_freed(MPI_Comm handle) {
  if (wanted(kCommFreed)) detail::comm_freed(handle);
}
/// Raises the event that the completion of a request is, if any.
inline void raise_completed(const pt2pt::Request* request) {
  if (__builtin_expect(g_wanted != 0, 0)) detail::completed(request);
}
/// Raises the event that the start of a persistent request or of a nonblocking collective is, if
/// any.
inline void raise_started(const pt2pt::Request* request) {
  if (__builtin_expect(g_wanted != 0, 0)) detail::started(request);
}
/// Marks a request whose completion is to be an event.
inline void watch(pt2pt::Request* request, ToolEventKind kind) {
  if (wanted(kind)) request->watched = true;
}

/// A blocking collective, between its beginning and its end.
class CollectiveEvents {
 public:
  CollectiveEvents(MPI_Comm handle, coll::CollectiveKind operation) {
    if (__builtin_expect(g_wanted & (1u << kCollectiveBegun | 1u << kCollectiveEnded), 0))
      begin(handle, operation);
  }
  ~CollectiveEvents() {
    if (__builtin_expect(comm_ != nullptr, 0)) end();
  }
  CollectiveEvents(const CollectiveEvents&) = delete;
  CollectiveEvents& operator=(const CollectiveEvents&) = delete;

 private:
  void begin(MPI_Comm handle, coll::CollectiveKind operation);
  void end();
  comm::Comm* comm_ = nullptr;
  coll::CollectiveKind operation_{};
  uint32_t number_ = 0;
};

}  // namespace fgmpi::mpi::events
