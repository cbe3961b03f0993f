// Names for reports: point-to-point has context ids, the user has communicators.

#include "base/strings.h"
#include "comm/context.h"
#include "comm/extras.h"
#include "mpi/life/runtime.h"
#include "pt2pt/pt2pt.h"
#include "rewind/events.h"

namespace fgmpi::mpi {
namespace {

/// The communicator with this id in this process; nullptr: none, or both sides of an
/// intercommunicator.
const comm::SharedComm* find_only(comm::ContextId id) {
  const comm::SharedComm *one = comm::find_shared(id, 0), *other = comm::find_shared(id, 1);
  return one && other ? nullptr : one ? one : other;
}

/// The name that a member has given it, else how it is stored. Only reports call this, so a search
/// is fast enough.
void communicator(uint64_t ctx, std::string* out) {
  comm::ContextId id = comm::ContextId::of_plane(ctx);
  if (id.lbi() == comm::kWorldLbi) {
    *out = "MPI_COMM_WORLD";
    return;
  }
  if (id.lbi() == comm::kSelfLbi) {
    *out = "MPI_COMM_SELF";
    return;
  }
  if (id.lid() == comm::kNoLid) {
    *out = "all processes";
    return;
  }
  const comm::SharedComm* shared = find_only(id);
  std::string name;
  comm::detail::g_comms.for_each([&](uint32_t, comm::Comm& c) {
    if (name.empty() && shared && c.shared == shared && c.extras) name = comm::name_of(&c);
  });
  if (name.empty()) name = "communicator";
  if (id.is_drawn()) {
    *out = name + format(" <%016llx>", static_cast<unsigned long long>(id.bits));
    return;
  }
  *out = name + format(" <%u,%u>", id.lid(), id.lbi());
}

bool locate(uint64_t ctx, int32_t rank, pt2pt::Peer* out) {
  const uint64_t plane = ctx & comm::kPlaneMask;
  if (plane == comm::kPlaneColl) {  // between processes
    *out = {pt2pt::process_of_source(rank), pt2pt::kProcessEndpoint};
    return true;
  }
  if (plane == comm::kPlaneInternal) return false;  // between ranks or processes
  const comm::SharedComm* shared = find_only(comm::ContextId::of_plane(ctx));
  if (!shared || rank < 0 || rank >= shared->peers().size()) return false;
  int32_t world = shared->peers().world_of(rank);
  if (world < 0) return false;  // of a system-ranked communicator, not known here
  *out = g_av.locate(static_cast<uint32_t>(world));
  return true;
}

/// No context id's bits, the lowest of which are 0.
constexpr uint64_t kSelfContext = 3;

/// For the list of a recorded run's events (rewind/events.h). MPI_COMM_SELF has its own shared part
/// only once it is used, and its members talk to themselves.
rewind::ListedComm find_listed_comm(int32_t handle, int32_t partner) {
  rewind::ListedComm found;
  const comm::RankState* rank = comm::rank_state();
  if (!rank || handle == MPI_COMM_NULL) return found;
  const bool is_self = handle == MPI_COMM_SELF;
  const comm::Comm* c = is_self ? &rank->self : comm::find_inside(handle);
  if (is_self) {
    found.context = kSelfContext;
    found.name = "MPI_COMM_SELF";
    if (partner == 0) found.partner_in_job = rank->world_rank;
  } else if (c && c->shared) {
    found.context = c->shared->id.bits | 1;
    if (handle == MPI_COMM_WORLD) found.name = "MPI_COMM_WORLD";
    if (partner >= 0 && partner < c->shared->peers().size())
      found.partner_in_job = c->shared->peers().world_of(partner);
  }
  if (found.context && c->extras && c->extras->named) found.name = c->extras->name.c_str();
  return found;
}

}  // namespace

void install_naming() {
  pt2pt::set_naming({communicator, locate});
  rewind::set_comm_finder(find_listed_comm);
}

}  // namespace fgmpi::mpi
