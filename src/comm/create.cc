// Duplicates, and communicators of a group: members have to agree on nothing but a context id
// (HPDC'10 Procedure 2 without its bitmaps: candidates with reserved indices instead).

#include "comm/create.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "ch4-av-rankmap/mlut.h"
#include "comm/attr.h"
#include "comm/broken.h"
#include "comm/extras.h"
#include "comm/hierarchy.h"
#include "comm/partial_group.h"

namespace fgmpi::comm {

bool several_jobs(const RankMap& group, const RankMap* other) {
  return has_foreign(group) || (other && has_foreign(*other));
}

uint8_t side_of(const RankMap& local, const RankMap& remote) {
  const int32_t ours = local.world_of(0), theirs = remote.world_of(0);
  const bool first =
      several_jobs(local, &remote) ? g_process_groups.before(ours, theirs) : ours < theirs;
  return first ? 0 : 1;
}

/// Does `one` lead fewer communicators than `other`? Ties: the lower world rank.
static bool leads_less(const RankState& one, const RankState& other) {
  return one.led < other.led || (one.led == other.led && one.world_rank < other.world_rank);
}

LeaderCandidate reserve_least(const SharedComm& shared, const Arrival* first, bool drawn) {
  if (drawn || shared.id.is_drawn()) return draw_candidate();
  RankState* least = nullptr;
  for (const Arrival* a = first; a; a = a->next) {
    RankState* r = state_of(shared, *a);
    if (!least || leads_less(*r, *least)) least = r;
  }
  return reserve(least);
}

void fail_all(Meeting* meeting, const Status& status) {
  for (Arrival* a = meeting->arrivals; a; a = a->next) a->status = copy_status(status);
}

void enter_all(Meeting* meeting, SharedComm* made, int32_t shift) {
  for (Arrival* a = meeting->arrivals; a; a = a->next)
    a->status = enter(made, a->rank + shift, a->comm, &static_cast<CreateArrival*>(a)->out);
}

namespace {

/// Makes the duplicate's shared part, with one member of this process as a candidate for its
/// leader. May switch.
Status duplicate(SharedComm* shared, const Meeting* meeting, const LeaderCandidate& mine,
                 int32_t claimant, const std::optional<groupmap::Strategy>& strategy,
                 SharedComm** made) {
  if (shared->tree)
    return shared->tree->duplicate(shared, meeting->sequence, mine, strategy, meeting->call, made);
  ContextId id;
  AgreeKey key{shared->id.bits, kAgreeDup, shared->side, meeting->sequence};
  Participants participants;
  if (shared->processes > 1) participants = participants_of(shared);
  participants.claimant = claimant;
  FGMPI_TRY(agree(key, participants, mine, meeting->call, &id));
  RankMap map = shared->map;
  if (strategy && !map.regular())
    sched::call_on_host([&] { map = RankMap::from_ranks(map.encoded().expand(), *strategy); });
  *made = make_shared({id, &map, shared->remote.get(), shared->members, shared->processes,
                       shared->side, meeting->call});
  (*made)->hierarchy = shared->hierarchy;
  (*made)->remote_hierarchy = shared->remote_hierarchy;
  (*made)->topology = shared->topology;
  return {};
}

void (*g_tool_copy)(const MPI_Comm*, MPI_Comm, int, int) = nullptr;

struct DupRequest final : pt2pt::Request {
  CreateArrival arrival;
  MPI_Comm* result = nullptr;
  std::unique_ptr<Extras> extras;  ///< for the new communicator

  ~DupRequest() override {
    if (comm_ref) comm_ref->release();
  }
  ToolEvent tool_event() const override {
    return {.what = ToolEvent::kCommunicator, .first = *result};
  }
};

/// The action of idup: gives each member its communicator through its request.
void idup_action(SharedComm* shared, Meeting* meeting) {
  SharedComm* made = nullptr;
  const Status status = dup_for_all(shared, meeting, &made);
  if (!status.ok()) return fail_all(meeting, status);
  for (Arrival* a = meeting->arrivals; a; a = a->next) {
    auto* request = static_cast<DupRequest*>(a->request);
    Comm* mine = static_cast<CreateArrival*>(a)->out;
    if (!mine) continue;
    mine->extras = std::move(request->extras);
    *request->result = mine->handle;
    if (g_tool_copy)
      g_tool_copy(request->result, mine->handle, static_cast<int>(made->id.lid()),
                  static_cast<int>(made->id.lbi()));
  }
}

/// The shared part at which the collocated members of a group meet before their
/// communicator exists.
struct Provisional : SharedComm {
  AgreeKey key;
  uint64_t fingerprint = 0;  ///< of the group's members
  int32_t first_rank = -1;   ///< rank of the first to arrive
  int32_t first_world = -1;
  bool drawn = false;  ///< members are of several jobs, or the parent's context id is drawn
};

std::unordered_multimap<AgreeKey, Provisional*, AgreeKeyHash> g_provisional;

void forget(const Provisional* made) {
  auto [first, last] = g_provisional.equal_range(made->key);
  g_provisional.erase(
      std::find_if(first, last, [&](const auto& entry) { return entry.second == made; }));
}

void create_action(SharedComm* shared, Meeting* meeting) {
  std::unique_ptr<Provisional> stage(static_cast<Provisional*>(shared));
  forget(stage.get());
  ContextId id;
  LeaderCandidate mine = reserve_least(*shared, meeting->arrivals, stage->drawn);
  Participants participants;
  if (stage->inter || static_cast<int32_t>(stage->members) < stage->size)
    participants = participants_of(shared);
  participants.of = shared;
  participants.claimant = claimant_of(*shared, meeting->arrivals);
  participants.fingerprint = stage->fingerprint;
  if (stage->key.kind != kAgreeCreate) {
    participants.groups[stage->side] = &stage->map;
    participants.groups[1 - stage->side] = stage->remote.get();
  }
  Status status = agree(stage->key, participants, mine, meeting->call, &id);
  if (!status.ok()) return fail_all(meeting, status);
  SharedComm* made = make_shared({id, &stage->map, stage->remote.get(), stage->members,
                                  std::max(1u, participants.count), stage->side, meeting->call});
  made->hierarchy = stage->hierarchy;
  made->remote_hierarchy = stage->remote_hierarchy;
  enter_all(meeting, made, 0);
}

/// Whether the caller is a member of a creation that is under way in this process.
enum class Same : uint8_t { kNo, kYes, kDiffers };

/// kYes or kDiffers: each of the two groups has a member that is in the other's creation now, the
/// running rank and the first to arrive, so both must belong to one creation (context.h has the
/// proof). kDiffers: the groups differ all the same.
Same same_creation(const Provisional& p, const RankMap& group, int32_t my_rank,
                   uint64_t fingerprint) {
  int32_t me = group.world_of(my_rank);
  if (p.size == group.size() && p.map.world_of(my_rank) == me &&
      group.world_of(p.first_rank) == p.first_world)
    return p.fingerprint == fingerprint ? Same::kYes : Same::kDiffers;
  return p.map.rank_of(me) >= 0 && group.rank_of(p.first_world) >= 0 ? Same::kDiffers : Same::kNo;
}

/// Finds the provisional communicator of this creation; the first to arrive makes it.
Status provisional(const AgreeKey& key, const RankMap& group, const RankMap* remote, bool drawn,
                   int32_t my_rank, Provisional** out) {
  uint64_t fingerprint = fingerprint_of(group, remote);
  auto [first, last] = g_provisional.equal_range(key);
  for (auto at = first; at != last; ++at) {
    Same same = same_creation(*at->second, group, my_rank, fingerprint);
    if (same == Same::kDiffers) return groups_differ();
    if (same == Same::kNo) continue;
    *out = at->second;
    return {};
  }
  auto* made = new Provisional;
  made->key = key;
  made->fingerprint = fingerprint;
  made->first_rank = my_rank;
  made->first_world = group.world_of(my_rank);
  made->drawn = drawn;
  made->map = group;
  made->size = group.size();
  made->side = static_cast<uint8_t>(key.side);
  made->inter = remote != nullptr;
  if (remote) made->remote = std::make_unique<RankMap>(*remote);
  made->members = members_here(group);
  g_provisional.emplace(key, made);
  *out = made;
  return {};
}

bool is_broken(const Provisional& made) {
  return is_revoked({made.key.ctx}) || has_lost_member(made);
}

/// Hashes the size and 17 members.
uint64_t sample(const RankMap& group, bool in_several_jobs) {
  uint64_t h = static_cast<uint64_t>(group.size());
  for (int64_t k = 0; k <= 16 && group.size() > 0; ++k) {
    int32_t rank = static_cast<int32_t>(k * (group.size() - 1) / 16);
    h = mix(h, leader_name(group.world_of(rank), in_several_jobs));
  }
  return h;
}

}  // namespace

uint64_t fingerprint_of(const RankMap& group, const RankMap* other) {
  const bool several = several_jobs(group, other);
  const uint64_t ours = sample(group, several);
  if (!other) return ours;
  // Both sides mix the two samples in the same order.
  const uint64_t theirs = sample(*other, several);
  return side_of(group, *other) == 0 ? mix(ours, theirs) : mix(theirs, ours);
}

void break_creations() {
  std::vector<Provisional*> broken;
  for (const auto& entry : g_provisional)
    if (is_broken(*entry.second)) broken.push_back(entry.second);
  for (Provisional* made : broken) {
    forget(made);
    break_comm(made, is_revoked({made->key.ctx}) ? kRevoked : kLostMember);
    delete made;
  }
}

Status create_among(const AgreeKey& key, const RankMap& group, const RankMap* remote,
                    const Comm* parent, int32_t my_rank, const char* call, Comm** out) {
  if (parent && parent->shared->broken & kRevoked) return broken_status(*parent->shared);
  Provisional* made = nullptr;
  const bool drawn = several_jobs(group, remote) || (parent && parent->shared->id.is_drawn());
  FGMPI_TRY(provisional(key, group, remote, drawn, my_rank, &made));
  if (has_lost_member(*made)) {
    break_creations();  // deletes *made
    return group_has_failed(group, remote);
  }
  Comm stand_in;  // what a member meets with until it has its own Comm
  stand_in.shared = made;
  stand_in.rank = my_rank;
  if (parent) stand_in.errhandler = parent->errhandler;
  CreateArrival mine;
  Status status = meet(&stand_in, &mine, kOpCreate, call, create_action);
  *out = mine.out;
  return status;
}

Status dup_for_all(SharedComm* shared, Meeting* meeting, SharedComm** made) {
  FGMPI_TRY(duplicate(shared, meeting, reserve_least(*shared, meeting->arrivals),
                      claimant_of(*shared, meeting->arrivals), {}, made));
  enter_all(meeting, *made, 0);
  return {};
}

namespace {
/// What a duplicate of a communicator keeps in its meeting.
struct DupBlock {
  RankState* least = nullptr;  ///< among the members so far, the one that leads least
  /// The strategy with which the first member wants an irregular map stored.
  std::optional<groupmap::Strategy> strategy;
  SharedComm* made = nullptr;  ///< the result
};
}  // namespace

Status dup(Comm* comm, Comm** out, const char* call, std::optional<groupmap::Strategy> strategy) {
  Meeting* m = join(comm, kOpDup, call);
  DupBlock* block = block_of<DupBlock>(m);
  // Each member, on arrival, replaces the candidate leader if it has led fewer communicators. On
  // departure it makes its own Comm. So a member writes only memory that it has just used.
  RankState* me = rank_state();
  if (m->arrived == 1)
    block = begin_block<DupBlock>(m, me, strategy);
  else if (m->status.ok() && leads_less(*me, *block->least))
    block->least = me;
  if (!m->full) {
    wait(comm, m, call);
  } else {
    const bool drawn = comm->shared->id.is_drawn();
    if (m->status.ok())
      m->status =
          duplicate(comm->shared, m, drawn ? draw_candidate() : reserve(block->least),
                    static_cast<int32_t>(block->least->world_rank), block->strategy, &block->made);
    release(m);
  }
  SharedComm* made = m->status.ok() ? block->made : nullptr;
  FGMPI_TRY(leave(m));
  return enter(made, comm->rank, comm, out);
}

void set_tool_copy(void (*copy)(const MPI_Comm*, MPI_Comm, int, int)) { g_tool_copy = copy; }

Status idup(Comm* comm, MPI_Comm* out, std::unique_ptr<Extras> extras, const char* call,
            pt2pt::Request** request) {
  auto r = std::make_unique<DupRequest>();
  r->call = call;
  r->extras = std::move(extras);
  r->comm_ref = comm;
  r->result = out;
  comm->retain();
  Status status = meet_nonblocking(comm, &r->arrival, kOpIdup, call, idup_action, r.get());
  if (!status.ok()) {
    if (r->extras) drop_attributes(&r->extras->attributes);
    return status;
  }
  *request = r.release();
  return {};
}

Status create(Comm* comm, const RankMap& group, Comm** out, const char* call) {
  *out = nullptr;
  // Each side of an intercommunicator gives a group of its own. This is a split by membership,
  // ordered as the group is.
  if (comm->shared->inter) {
    int32_t rank = group.rank_of(comm->shared->map.world_of(comm->rank));
    return split(comm, rank < 0 ? MPI_UNDEFINED : 0, rank, out);
  }
  const uint32_t number = comm->sequence;
  comm->sequence += kNextOfKind;  // at non-members too, so that all count in step
  int32_t my_rank = group.rank_of(comm->shared->map.world_of(comm->rank));
  if (comm->shared->broken) return broken_status(*comm->shared);
  if (my_rank < 0) return {};
  AgreeKey key{comm->shared->id.bits, kAgreeCreate, 0, number,
               leader_name(group.world_of(0), comm->shared->id.is_drawn())};
  return create_among(key, group, nullptr, comm, my_rank, call, out);
}

Status create_group(Comm* comm, const RankMap& group, int32_t tag, Comm** out) {
  *out = nullptr;
  int32_t my_rank = group.rank_of(comm->shared->map.world_of(comm->rank));
  if (my_rank < 0) return {};
  AgreeKey key{comm->shared->id.bits, kAgreeCreateGroup, 0, static_cast<uint32_t>(tag),
               leader_name(group.world_of(0), comm->shared->id.is_drawn())};
  return create_among(key, group, nullptr, comm, my_rank, "MPI_Comm_create_group", out);
}

}  // namespace fgmpi::comm
