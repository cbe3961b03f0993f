// Keys of communicators: <world rank of the defining process, its counter>
// (EuroMPI'11 section 4.1).
//
// Rank 0 of a communicator defines it. Its key is broadcast on the new communicator itself,
// nonblocking, and completed when it has arrived: MPI_Comm_idup may complete in different orders at
// different ranks, and a blocking broadcast would deadlock there. The broadcast is the first
// collective on the communicator at all members, so it matches.
//
// Intercommunicators have two candidates, the ranks 0 of both groups. Each reserves a number of its
// counter for intercommunicators. A reduction over the intercommunicator, to which only ranks 0
// contribute other values than zero, brings each group the other's candidate; its members store
// that one. The ranks 0 know both, so the unification can tell that two keys mean one communicator,
// which the lower <job, world rank> defines. One collective must suffice: a second one, started
// when the first is complete, would take a different position among the program's own collectives
// at each member.
//
// On our library the context id is a key already (leader, index), known at creation, so nothing is
// sent. It must not be reused (MPIX_Comm_keys_unique), and the counter of the defining process
// follows from the order of rank 0's records.
#include <algorithm>

#include "track/extensions.h"
#include "track/recorder.h"

namespace fgmpi::track {
namespace {

/// Stores a key that has arrived.
void set_key(TrackedRank* rank, const PendingKey& p) {
  CommRecord& r = rank->comm(p.id);
  const bool inter = r.flags & kInter;
  // Keys of intercommunicators are sent plus one, so that zeros lose the reduction.
  const uint64_t* key = inter ? p.received : p.sent;
  const uint64_t more = inter ? 1 : 0;
  r.job = static_cast<uint32_t>(key[0] - more);
  r.definer = static_cast<uint32_t>(key[1] - more);
  r.counter = static_cast<uint32_t>(key[2] - more);
  r.flags |= kKeyed;
  if (!inter) return;
  const auto own_job = static_cast<uint32_t>(g_process.job);
  if (r.job != own_job) {
    r.flags |= kForeign;
    rank->foreign = true;
  } else if (r.rank == 0 && r.definer < static_cast<uint32_t>(rank->world_rank)) {
    r.flags |= kSideB;
  }
}

}  // namespace

void start_key(TrackedRank* rank, MPI_Comm comm, uint32_t id) {
  CommRecord& r = rank->comm(id);
  const bool inter = r.flags & kInter;
  uint32_t* counter = inter ? &rank->defined_inter : &rank->defined;
  const uint32_t number = r.rank == 0 ? (*counter)++ : 0;
  if (g_process.context_keys) {
    int leader = 0, index = 0, side = 0;
    if (MPIX_Comm_key(comm, &leader, &index, &side) == MPI_SUCCESS) {
      r.definer = static_cast<uint32_t>(leader);
      r.counter = static_cast<uint32_t>(index);
      r.flags |= kKeyed | (side ? kSideB : 0);
    }
    return;
  }
  if (r.flags & kPredefined && id == 0) {
    // All ranks know the world's key without communication, so it exists whenever the job aborts:
    // rank 0 defines it before all others.
    r.definer = r.counter = 0;
    r.flags |= kKeyed;
    return;
  }
  auto* p = new PendingKey;
  p->comm = comm;
  p->id = id;
  if (r.rank == 0) {
    const uint64_t key[3] = {g_process.job & 0xffffffffu, static_cast<uint64_t>(rank->world_rank),
                             number};
    for (int i = 0; i < 3; ++i) p->sent[i] = key[i] + (inter ? 1 : 0);
  }
  if (inter) {
    g_next.MPI_Iallreduce(p->sent, p->received, 3, MPI_UINT64_T, MPI_MAX, comm, &p->request);
  } else {
    g_next.MPI_Ibcast(p->sent, 3, MPI_UINT64_T, 0, comm, &p->request);
  }
  rank->pending.push_back(p);
  advance_keys(rank, false);
}

void advance_keys(TrackedRank* rank, bool all) {
  auto& list = rank->pending;
  for (size_t i = 0; i < list.size();) {
    PendingKey* p = list[i];
    int done = 1;
    if (all)
      g_next.MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    else
      g_next.MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
    if (!done) {
      ++i;
      continue;
    }
    set_key(rank, *p);
    delete p;
    list[i] = list.back();
    list.pop_back();
  }
}

}  // namespace fgmpi::track
