// What the point-to-point bindings share: arguments checked and converted to those of src/pt2pt.
#pragma once

#include "mpi/binding.h"
#include "proclet-sched/coroutine/running_state.h"
#include "pt2pt/pt2pt_inl.h"

namespace fgmpi::mpi {

using comm::Comm;
using pt2pt::Buffer;
using pt2pt::Outcome;
using pt2pt::Request;
using pt2pt::SendMode;

/// True for a rank of the group to which point-to-point ranks refer.
inline bool is_member(const Comm* c, int rank) {
  return static_cast<uint32_t>(rank) < static_cast<uint32_t>(c->shared->peers().size());
}

/// plain_bytes() for at most 16 bytes. A product does not overflow where the count has 32 bits.
inline bool few_bytes(const void* address, int64_t count, MPI_Datatype type, uint64_t* bytes) {
  if (__builtin_expect(!in_basic_types(type), 0)) return false;
  const auto size = static_cast<uint32_t>(datatype::basic_size(type));
  *bytes = static_cast<uint64_t>(count) * size;
  return count == static_cast<int32_t>(count) && *bytes <= pt2pt::kTiny && address != nullptr;
}

inline uint64_t user_ctx(const Comm* c) { return c->shared->id.plane(comm::kPlanePt2pt); }
/// The running rank's endpoint.
/// REQUIRES: MPI is initialised.
inline pt2pt::Endpoint* my_endpoint() {
  const auto* mine = static_cast<const comm::RankState*>(sched::detail::g_running_state);
  return pt2pt::g_engine.endpoints.of_proclet(mine->local);
}

inline Status check_send(const Comm* c, int dest, int tag) {
  FGMPI_TRY(check_rank(c, dest, "dest", false));
  return check_tag(tag, false);
}
inline Status check_recv(const Comm* c, int source, int tag) {
  FGMPI_TRY(check_rank(c, source, "source", true));
  return check_tag(tag, true);
}

/// The communicator whose error handler is for this request, or nullptr.
inline Comm* comm_of(const Request* r) { return static_cast<Comm*>(r->comm_ref); }

/// Called after a receive has been posted without waiting: ends it if it waits for a failed process
/// (survivors/survivors.h).
void examine_posted();

/// The outcome of a receive from MPI_PROC_NULL.
inline Outcome no_process_outcome() {
  Outcome outcome;
  outcome.source = MPI_PROC_NULL;
  return outcome;
}

}  // namespace fgmpi::mpi
