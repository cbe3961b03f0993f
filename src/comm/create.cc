// Duplicates, and communicators of a group: nothing but a context id has to be agreed on (HPDC'10 Procedure 2
// without its bitmaps: candidates with reserved indices instead).

#include "comm/create.h"

#include <unordered_map>

#include "comm/extras.h"
#include "comm/hierarchy.h"

namespace fgmpi::comm {

Candidate reserve_least(const SharedComm& shared, const Arrival* first) {
  RankState* least = nullptr;
  for (const Arrival* a = first; a; a = a->next) {
    RankState* r = state_of(shared, *a);
    if (!least || r->led < least->led || (r->led == least->led && r->world_rank < least->world_rank)) least = r;
  }
  return reserve(least);
}

void fail_all(Meeting* meeting, const Status& status) {
  for (Arrival* a = meeting->arrivals; a; a = a->next) a->status = copy_status(status);
}

void attach_all(Meeting* meeting, const Recipe& recipe, const SharedComm* like) {
  Recipe named = recipe;
  named.made_by = meeting->call;
  for (Arrival* a = meeting->arrivals; a; a = a->next) {
    auto* arrival = static_cast<CreateArrival*>(a);
    a->status = attach(named, a->rank, a->comm, &arrival->out);
  }
  SharedComm* made = lookup(recipe.id, recipe.side);
  if (!made || !like) return;
  made->hierarchy = like->hierarchy;
  made->remote_hierarchy = like->remote_hierarchy;
  made->topology = like->topology;
}

namespace {

void dup_act(SharedComm* shared, Meeting* meeting) {
  ContextId id;
  Candidate mine = reserve_least(*shared, meeting->arrivals);
  AgreeKey key{shared->id.bits, kAgreeDup, shared->side, meeting->sequence, 0};
  Parties parties;
  if (shared->processes > 1) parties = parties_of(shared);
  Status status = agree(key, parties, mine, meeting->call, &id);
  if (!status.ok()) return fail_all(meeting, status);
  RankMap map = shared->map;
  auto* first = static_cast<const CreateArrival*>(meeting->arrivals);
  if (first->strategy && !map.regular())
    sched::call_on_host([&] { map = RankMap::from_ranks(map.encoded().expand(), *first->strategy); });
  attach_all(meeting, {id, &map, shared->remote.get(), shared->members, shared->processes, shared->side}, shared);
}

struct DupRequest final : pt2pt::Request {
  CreateArrival arrival;
  MPI_Comm* result = nullptr;
  std::unique_ptr<Extras> extras;  ///< for the new communicator
};

/// idup: hands each member its communicator through its request.
void idup_act(SharedComm* shared, Meeting* meeting) {
  dup_act(shared, meeting);
  for (Arrival* a = meeting->arrivals; a; a = a->next) {
    auto* request = static_cast<DupRequest*>(a->request);
    Comm* made = static_cast<CreateArrival*>(a)->out;
    if (!made) continue;
    made->extras = std::move(request->extras);
    *request->result = made->handle;
  }
}

/// A communicator in the making: what the collocated members of the group meet at.
struct Provisional : SharedComm {
  AgreeKey key;
};

struct KeyHash {
  size_t operator()(const AgreeKey& k) const {
    return static_cast<size_t>((k.ctx ^ k.print ^ (uint64_t{k.number} << 32 | uint64_t{k.side} << 16 | k.kind)) *
                               0x9e3779b97f4a7c15u);
  }
};
std::unordered_map<AgreeKey, Provisional*, KeyHash> g_provisional;

void create_act(SharedComm* shared, Meeting* meeting) {
  auto* made = static_cast<Provisional*>(shared);
  g_provisional.erase(made->key);
  ContextId id;
  Candidate mine = reserve_least(*shared, meeting->arrivals);
  Parties parties;
  if (made->inter || static_cast<int32_t>(made->members) < made->size) parties = parties_of(made);
  made->processes = std::max(1u, parties.count());
  Status status = agree(made->key, parties, mine, meeting->call, &id);
  if (status.ok()) {
    attach_all(meeting, {id, &made->map, made->remote.get(), made->members, made->processes, made->side}, made);
  } else {
    fail_all(meeting, status);
  }
  delete made;
}

/// The provisional communicator of this key, made by the first who comes; an error when it is of another group.
Status provisional(const AgreeKey& key, const RankMap& group, const RankMap* remote, int32_t my_rank,
                   Provisional** out) {
  Provisional*& slot = g_provisional[key];
  if (!slot) {
    slot = new Provisional;
    slot->key = key;
    slot->map = group;
    slot->size = group.size();
    slot->side = static_cast<uint8_t>(key.side);
    slot->inter = remote != nullptr;
    if (remote) slot->remote = std::make_unique<RankMap>(*remote);
    slot->members = static_cast<uint32_t>(group.count_within(static_cast<int32_t>(g_av.my_first()),
                                                             static_cast<int32_t>(g_av.my_first() + g_av.my_count())));
  } else if (slot->size != group.size() || slot->map.world_of(my_rank) != group.world_of(my_rank)) {
    return error(MPI_ERR_GROUP, "group (of %d) is not the group (of %d) that other members gave", group.size(),
                 slot->size);
  }
  *out = slot;
  return {};
}

}  // namespace

uint64_t fingerprint(const RankMap& group) {
  uint64_t h = static_cast<uint64_t>(group.size());
  for (int64_t k = 0; k <= 16 && group.size() > 0; ++k) {
    int32_t rank = static_cast<int32_t>(k * (group.size() - 1) / 16);
    h = (h ^ static_cast<uint32_t>(group.world_of(rank))) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

Status create_among(const AgreeKey& key, const RankMap& group, const RankMap* remote, const Comm* parent,
                    int32_t my_rank, const char* call, Comm** out) {
  Provisional* made = nullptr;
  FGMPI_TRY(provisional(key, group, remote, my_rank, &made));
  Comm stand_in;  // what a member meets with until it has its own
  stand_in.shared = made;
  stand_in.rank = my_rank;
  if (parent) stand_in.errhandler = parent->errhandler;
  CreateArrival mine;
  Status status = meet(&stand_in, &mine, kOpCreate, call, create_act);
  *out = mine.out;
  return status;
}

Status dup(Comm* comm, Comm** out, std::optional<groupmap::Strategy> strategy) {
  CreateArrival mine;
  mine.strategy = strategy;
  Status status = meet(comm, &mine, kOpDup, "MPI_Comm_dup", dup_act);
  *out = mine.out;
  return status;
}

Status idup(Comm* comm, MPI_Comm* out, std::unique_ptr<Extras> extras, const char* call, pt2pt::Request** request) {
  auto* r = new DupRequest;
  r->call = call;
  r->extras = std::move(extras);
  r->keep = comm;
  r->result = out;
  comm->retain();
  *request = r;
  return meet_nonblocking(comm, &r->arrival, kOpDup, call, idup_act, r);
}

Status create(Comm* comm, const RankMap& group, Comm** out, const char* call) {
  *out = nullptr;
  // Of an intercommunicator each side gives a group of its own: a split by membership, ordered as the group is.
  if (comm->shared->inter) {
    int32_t rank = group.rank_of(comm->shared->map.world_of(comm->rank));
    return split(comm, rank < 0 ? MPI_UNDEFINED : 0, rank, out);
  }
  uint32_t number = comm->sequence++;  // members and others count in step
  int32_t my_rank = group.rank_of(comm->shared->map.world_of(comm->rank));
  if (my_rank < 0) return {};
  AgreeKey key{comm->shared->id.bits, kAgreeCreate, 0, number, fingerprint(group)};
  return create_among(key, group, nullptr, comm, my_rank, call, out);
}

Status create_group(Comm* comm, const RankMap& group, int32_t tag, Comm** out) {
  *out = nullptr;
  int32_t my_rank = group.rank_of(comm->shared->map.world_of(comm->rank));
  if (my_rank < 0) return {};
  AgreeKey key{comm->shared->id.bits, kAgreeCreateGroup, 0, static_cast<uint32_t>(tag), fingerprint(group)};
  return create_among(key, group, nullptr, comm, my_rank, "MPI_Comm_create_group", out);
}

}  // namespace fgmpi::comm
