// Intercommunicators: create, merge, and from groups alone (MPI-4.0 sections 7.6 and 11.6).
//
//   local group: process of the leader  <--maps-->  remote group: process of its leader
//         | sends to the other processes                  | sends to the other processes
//         v                                               v
//   all processes of both groups agree on a context id (context.h); each side has a SharedComm
//
// Only the leaders' processes exchange messages across groups. A map travels encoded, once a
// process.

#include <algorithm>
#include <cstring>

#include "ch4-av-rankmap/mlut.h"
#include "comm/create.h"
#include "comm/group.h"
#include "comm/hierarchy.h"
#include "datatype/datatype.h"

namespace fgmpi::comm {
namespace {

pt2pt::Buffer bytes_of(const void* data, size_t size) {
  pt2pt::Buffer buffer;
  buffer.address = const_cast<void*>(data);
  buffer.count = static_cast<int64_t>(size);
  return buffer;
}

/// Swaps messages with a rank of the peer group of a communicator, on behalf of rank `me` of this
/// process. The caller may run on another stack than that rank's.
Status swap_with(Location peer, int32_t peer_rank, Location me, int32_t my_rank, uint64_t ctx,
                 int32_t tag, const std::vector<uint8_t>& mine, std::vector<uint8_t>* theirs,
                 const char* call) {
  pt2pt::Request* sent = nullptr;
  FGMPI_TRY(pt2pt::isend(bytes_of(mine.data(), mine.size()), peer, my_rank, tag, ctx,
                         pt2pt::SendMode::kStandard, call, nullptr, &sent));
  pt2pt::Outcome outcome;
  pt2pt::Endpoint* at = pt2pt::endpoint(me.local);
  FGMPI_TRY(pt2pt::probe(at, peer_rank, tag, ctx, call, &outcome));
  theirs->resize(outcome.bytes);
  Status status = pt2pt::recv(bytes_of(theirs->data(), theirs->size()), at, peer_rank, tag, ctx,
                              call, &outcome);
  pt2pt::wait(sent, call);
  pt2pt::free_request(sent);
  return status;
}

RankMap concatenate(const RankMap& a, const RankMap& b) {
  std::vector<int32_t> worlds = a.encoded().expand();
  size_t n = worlds.size();
  worlds.resize(n + static_cast<size_t>(b.size()));
  b.world_range(0, b.size(), worlds.data() + n);
  return map_of_globals(worlds);
}

struct InterArrival : CreateArrival {
  InterArguments arguments;
};

/// What the leader's process learns from the other leader, and sends to the other processes of
/// its group.
struct Learned {
  uint64_t peer_ctx = 0;
  int32_t tag = 0;  ///< given by the leader: MPI does not demand that others give the same
  Status status;
  RankMap remote;
  bool between_jobs = false;  ///< the local group may have members of several jobs
  bool drawn = false;         ///< the peer communicator's context id is drawn
};

/// Bytes before the map or the error text: u64 peer context | i32 tag | u8 ok.
constexpr size_t kLearnedHead = 13;

std::vector<uint8_t> encode(const Learned& l) {
  std::vector<uint8_t> out(kLearnedHead);
  std::memcpy(out.data(), &l.peer_ctx, 8);
  std::memcpy(out.data() + 8, &l.tag, 4);
  out[12] = l.status.ok();
  if (l.status.ok()) {
    l.remote.serialize(&out, l.between_jobs);
  } else {
    const std::string& why = l.status.what();
    out.resize(kLearnedHead + why.size());
    std::memcpy(out.data() + kLearnedHead, why.data(), why.size());
  }
  return out;
}

Learned decode(const std::vector<uint8_t>& in) {
  Learned l;
  FGMPI_CHECK(in.size() >= kLearnedHead);
  std::memcpy(&l.peer_ctx, in.data(), 8);
  std::memcpy(&l.tag, in.data() + 8, 4);
  l.drawn = ContextId{l.peer_ctx}.is_drawn();
  std::span<const uint8_t> rest(in.data() + kLearnedHead, in.size() - kLearnedHead);
  size_t used;
  if (in[12])
    l.status = RankMap::deserialize(rest, &used, &l.remote);
  else
    l.status = Status(MPI_ERR_COMM, std::string(rest.begin(), rest.end()));
  return l;
}

/// What the leader's process does: swaps maps with the remote leader.
Learned learn(const SharedComm& local, const InterArguments& a, const char* call) {
  Learned l;
  l.peer_ctx = a.peer->shared->id.bits;
  l.tag = a.tag;
  l.between_jobs = local.id.is_drawn();
  std::vector<uint8_t> mine, theirs;
  local.map.serialize(&mine, a.peer->shared->id.is_drawn());
  Location me = g_av.locate(static_cast<uint32_t>(local.map.world_of(a.local_leader)));
  l.status = swap_with(a.peer->peer(a.remote_leader), a.remote_leader, me, a.peer->rank,
                       a.peer->shared->id.plane(kPlaneInternal), a.tag, mine, &theirs, call);
  size_t used;
  if (l.status.ok()) l.status = RankMap::deserialize(theirs, &used, &l.remote);
  if (l.status.ok() && intersect(local.map, l.remote).size() > 0)
    l.status = error(MPI_ERR_COMM,
                     "the two groups have %d ranks in common; allowed are groups that have none",
                     intersect(local.map, l.remote).size());
  return l;
}

/// All members must give the same leader, as only that member has given a peer communicator.
Status check_leader(const Meeting& meeting) {
  const int32_t leader = static_cast<InterArrival*>(meeting.arrivals)->arguments.local_leader;
  for (const Arrival* a = meeting.arrivals; a; a = a->next)
    if (const int32_t other = static_cast<const InterArrival*>(a)->arguments.local_leader;
        other != leader)
      return error(MPI_ERR_OTHER,
                   "rank %d gives local_leader %d, rank %d gives %d; allowed is the same at all",
                   meeting.arrivals->rank, leader, a->rank, other);
  return {};
}

void inter_create_action(SharedComm* shared, Meeting* meeting) {
  if (Status same = check_leader(*meeting); !same.ok()) return fail_all(meeting, same);
  auto* first = static_cast<InterArrival*>(meeting->arrivals);
  const Hierarchy& h = hierarchy(shared);
  int32_t leader = first->arguments.local_leader;
  uint32_t leader_index = h.index_of_rank(shared->map, leader);
  std::vector<uint8_t> message;
  if (leader_index == h.my_index) {
    Arrival* a = first;
    while (a->rank != leader) a = a->next;
    message = encode(learn(*shared, static_cast<InterArrival*>(a)->arguments, meeting->call));
  }
  Status status =
      send_to_processes(shared, leader_index, tag_of(*shared, meeting->sequence, kStepSpread),
                        &message, meeting->call);
  if (!status.ok()) return fail_all(meeting, status);
  Learned learned = decode(message);
  if (!learned.status.ok()) return fail_all(meeting, learned.status);
  const StoredGroups kept(learned.remote);

  Hierarchy far = build_hierarchy(learned.remote);
  const bool drawn = several_jobs(shared->map, &learned.remote) || learned.drawn;
  uint8_t side = side_of(shared->map, learned.remote);
  Participants participants;
  participants.count = h.count() + far.count();
  const RankMap& first_map = side == 0 ? shared->map : learned.remote;
  participants.root = g_av.process_of(static_cast<uint32_t>(first_map.world_of(0)));
  participants.groups[side] = &shared->map;
  participants.groups[1 - side] = &learned.remote;
  participants.fingerprint = fingerprint_of(shared->map, &learned.remote);
  AgreeKey key{learned.peer_ctx, kAgreeInter, side, static_cast<uint32_t>(learned.tag),
               leader_name(first_map.world_of(0), drawn)};
  ContextId id;
  participants.claimant = claimant_of(*shared, meeting->arrivals);
  status = agree(key, participants, reserve_least(*shared, meeting->arrivals, drawn), meeting->call,
                 &id);
  if (!status.ok()) return fail_all(meeting, status);
  SharedComm* made = make_shared({id, &shared->map, &learned.remote, shared->members,
                                  participants.count, side, meeting->call});
  made->hierarchy = shared->hierarchy;
  enter_all(meeting, made, 0);
}

struct MergeArrival : CreateArrival {
  bool high = false;
};

void merge_action(SharedComm* shared, Meeting* meeting) {
  const Hierarchy& h = hierarchy(shared);
  uint32_t root_index = h.index_of_rank(shared->map, 0);
  bool high = static_cast<MergeArrival*>(meeting->arrivals)->high;
  std::vector<uint8_t> theirs;
  Status status;
  if (root_index == h.my_index)
    status = exchange_with_other_side(*shared, meeting->sequence, {static_cast<uint8_t>(high)},
                                      &theirs, meeting->call);
  if (status.ok())
    status = send_to_processes(shared, root_index, tag_of(*shared, meeting->sequence, kStepSpread),
                               &theirs, meeting->call);
  if (!status.ok()) return fail_all(meeting, status);
  bool far_high = theirs.at(0) != 0;
  bool first = high != far_high ? !high : shared->side == 0;
  RankMap merged;
  sched::call_on_host([&] {
    merged = first ? concatenate(shared->map, *shared->remote)
                   : concatenate(*shared->remote, shared->map);
  });
  AgreeKey key{shared->id.bits, kAgreeMerge, shared->side, meeting->sequence};
  ContextId id;
  Participants participants = participants_of(shared);
  participants.claimant = claimant_of(*shared, meeting->arrivals);
  status = agree(key, participants, reserve_least(*shared, meeting->arrivals), meeting->call, &id);
  if (!status.ok()) return fail_all(meeting, status);
  Hierarchy all = build_hierarchy(merged);
  // Where both sides have members in this process, the second action finds what the first has made.
  SharedComm* made = find_with_members(id);
  if (!made)
    made = make_shared(
        {id, &merged, nullptr, all.members(merged, all.my_index), all.count(), 0, meeting->call});
  enter_all(meeting, made, first ? 0 : shared->remote->size());
}

/// Finds the running rank in `group`. Errors: MPI_ERR_GROUP.
Status rank_in(const RankMap& group, int32_t* rank) {
  *rank = group.rank_of(static_cast<int32_t>(rank_state()->world_rank));
  if (*rank >= 0) return {};
  return error(MPI_ERR_GROUP,
               "the calling rank is not in the group (of %d); allowed are its members",
               group.size());
}

}  // namespace

Status exchange_with_other_side(const SharedComm& shared, uint32_t number,
                                const std::vector<uint8_t>& mine, std::vector<uint8_t>* theirs,
                                const char* call) {
  // The tag does not contain the side, so that what one side sends the other receives.
  int32_t tag = static_cast<int32_t>((number & 0xfffffff) << 3) | kStepExchange;
  Location peer = g_av.locate(static_cast<uint32_t>(shared.remote->world_of(0)));
  Location me = g_av.locate(static_cast<uint32_t>(shared.map.world_of(0)));
  return swap_with(peer, 0, me, 0, shared.id.plane(kPlaneInternal), tag, mine, theirs, call);
}

Status send_to_processes(SharedComm* shared, uint32_t root_index, int32_t tag,
                         std::vector<uint8_t>* bytes, const char* call) {
  const Hierarchy& h = hierarchy(shared);
  uint64_t ctx = shared->id.plane(kPlaneInternal);
  if (h.my_index != root_index)
    return pt2pt::process_recv(h.processes[root_index], ctx, tag, bytes, call);
  for (uint32_t i = 0; i < h.count(); ++i)
    if (i != root_index)
      FGMPI_TRY(pt2pt::process_send(h.processes[i], ctx, tag, bytes->data(), bytes->size(), call));
  return {};
}

Status intercomm_create(Comm* local, const InterArguments& arguments, Comm** out) {
  InterArrival mine;
  mine.arguments = arguments;
  Status status = meet(local, &mine, kOpInterCreate, "MPI_Intercomm_create", inter_create_action);
  *out = mine.out;
  return status;
}

Status intercomm_merge(Comm* inter, bool high, Comm** out) {
  MergeArrival mine;
  mine.high = high;
  Status status = meet(inter, &mine, kOpInterMerge, "MPI_Intercomm_merge", merge_action);
  *out = mine.out;
  return status;
}

Status create_from_group(const RankMap& group, uint64_t name, Comm** out) {
  int32_t rank;
  FGMPI_TRY(rank_in(group, &rank));
  AgreeKey key{name, kAgreeFromGroup, 0, 0, leader_name(group.world_of(0), several_jobs(group))};
  return create_among(key, group, nullptr, nullptr, rank, "MPI_Comm_create_from_group", out);
}

Status intercomm_from_groups(const RankMap& local, const RankMap& remote, uint64_t name,
                             Comm** out) {
  int32_t rank;
  FGMPI_TRY(rank_in(local, &rank));
  if (int32_t common = intersect(local, remote).size())
    return error(MPI_ERR_GROUP,
                 "the two groups have %d ranks in common; allowed are groups that have none",
                 common);
  const bool several = several_jobs(local, &remote);
  const uint8_t side = side_of(local, remote);
  AgreeKey key{name, kAgreeFromGroup, side, 1,
               leader_name((side == 0 ? local : remote).world_of(0), several)};
  return create_among(key, local, &remote, nullptr, rank, "MPI_Intercomm_create_from_groups", out);
}

}  // namespace fgmpi::comm
