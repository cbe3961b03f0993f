// Visits: the description of a communicator, and the Comm that is made of it.
#include "comm/visit.h"

#include <cstring>

#include "comm/partial_group.h"

namespace fgmpi::comm {
namespace {

/// In front of the encoded groups.
struct VisitHead {
  uint64_t id;
  int32_t rank;
  uint32_t processes, session;
  uint8_t side, inter;
  uint8_t unused[2] = {};
};
static_assert(sizeof(VisitHead) == 24);

}  // namespace

Status describe_visit(Comm* comm, std::vector<uint8_t>* out) {
  SharedComm* shared = comm->shared;
  if (shared->id.is_drawn())
    return error(MPI_ERR_COMM, "a communicator with members of other jobs cannot be visited");
  if (shared->tree) materialise_map(shared);
  const VisitHead head = {shared->id.bits, comm->rank,   shared->processes,
                          comm->session,   shared->side, shared->inter};
  out->resize(sizeof head);
  std::memcpy(out->data(), &head, sizeof head);
  sched::call_on_host([&] {
    shared->map.serialize(out);
    if (shared->inter) shared->remote->serialize(out);
  });
  return {};
}

Status visit(std::span<const uint8_t> description, Comm** out) {
  VisitHead head;
  if (description.size() < sizeof head)
    return error(MPI_ERR_INTERN, "the description of a communicator is cut off");
  std::memcpy(&head, description.data(), sizeof head);
  const ContextId id = {head.id};
  SharedComm* shared = find_shared(id, head.side);
  if (!shared) {
    RankMap map, remote;
    Status status;
    sched::call_on_host([&] {
      size_t used = 0;
      std::span<const uint8_t> left = description.subspan(sizeof head);
      status = RankMap::deserialize(left, &used, &map);
      if (!status.ok() || !head.inter) return;
      left = left.subspan(used);
      status = RankMap::deserialize(left, &used, &remote);
    });
    FGMPI_TRY(std::move(status));
    shared = make_shared(
        {id, &map, head.inter ? &remote : nullptr, 0, head.processes, head.side, "a rank's move"});
  }
  ++shared->references;
  FGMPI_TRY(enter(shared, head.rank, nullptr, out));
  (*out)->session = head.session;
  return {};
}

}  // namespace fgmpi::comm
