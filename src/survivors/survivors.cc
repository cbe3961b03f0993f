// Revoking, acknowledging, shrinking and agreeing, and the check of receives when processes
// are lost.

#include "survivors/survivors.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ch4-av-rankmap/hosts.h"
#include "comm/broken.h"
#include "comm/context.h"
#include "comm/group.h"
#include "comm/hierarchy.h"
#include "comm/inside_paths.h"
#include "pt2pt/lost.h"
#include "pt2pt/pt2pt.h"
#include "survivors/agreement.h"
#include "system-ranked/group_tree.h"
#include "transport/registry.h"

namespace fgmpi::survivors {
namespace {

using comm::Comm;
using comm::SharedComm;

enum class Purpose : uint8_t { kAgree, kShrink };

struct GatheredMember {
  Comm* comm = nullptr;
  sched::Proclet* proclet = nullptr;
  int flag = 0;
  Comm* made = nullptr;
  Status status;
};

/// The members of this process that have arrived; the last one takes part in the agreement for all.
struct MemberGathering {
  explicit MemberGathering(Purpose its_purpose) : purpose(its_purpose) {}
  Purpose purpose;
  std::vector<GatheredMember*> members;
  int32_t flag = -1;
  size_t acknowledged = SIZE_MAX;  ///< number of losses that all of them have acknowledged
};

/// The order of a communicator's agreements in this process: each one ends before the next one is
/// joined, as agreement.h wants it.
struct AgreementOrder {
  uint32_t ended = 0;                           ///< agreements with lower numbers have ended
  std::map<uint32_t, sched::Proclet*> waiting;  ///< by the number of the agreement
};

/// What this process knows of failures and revocations.
struct KnownTrouble {
  bool started = false;   ///< start() was called
  bool troubled = false;  ///< a process was lost or a communicator revoked
  void (*on_reported_loss)(uint32_t) = [](uint32_t process) { process_lost(process, true); };
  /// For each communicator, and the local index of each rank: how many of the lost processes the
  /// rank has acknowledged.
  std::unordered_map<uint64_t, std::unordered_map<uint32_t, size_t>> acknowledged;
  std::map<AgreementName, MemberGathering> gatherings;
  /// For each communicator, and the local index of each rank: how many agreements it has begun.
  std::unordered_map<uint64_t, std::unordered_map<uint32_t, uint32_t>> begun;
  std::unordered_map<uint64_t, AgreementOrder> orders;  ///< by context id
};
KnownTrouble g_trouble;

size_t acknowledged_by(uint64_t id, uint32_t local) {
  const auto of_comm = g_trouble.acknowledged.find(id);
  if (of_comm == g_trouble.acknowledged.end()) return 0;
  const auto of_rank = of_comm->second.find(local);
  return of_rank == of_comm->second.end() ? 0 : of_rank->second;
}

/// The shared part of which the rank with this local index is a member, also where this process
/// hosts both groups of an intercommunicator.
SharedComm* shared_of(comm::ContextId id, uint32_t local) {
  SharedComm *one = comm::find_shared(id, 0), *other = comm::find_shared(id, 1);
  if (!one || !other) return one ? one : other;
  const auto world = static_cast<int32_t>(g_av.global_of_local(local));
  return one->map.rank_of(world) >= 0 ? one : other;
}

Status judge_process_receive(const pt2pt::Envelope& pattern) {
  const SharedComm* shared = comm::find_shared(comm::ContextId::of_plane(pattern.ctx), 0);
  if (!shared) shared = comm::find_shared(comm::ContextId::of_plane(pattern.ctx), 1);
  if (shared && shared->broken) return comm::broken_status(*shared);
  if (pattern.source < 0) return {};
  const uint32_t process = pt2pt::process_of_source(pattern.source);
  return pt2pt::is_lost(process) ? pt2pt::process_failed(process) : Status();
}

/// The error of a receive from MPI_ANY_SOURCE, or ok.
Status judge_any_source(const SharedComm& shared, uint32_t local) {
  const std::vector<uint32_t>& lost = pt2pt::lost_processes();
  for (size_t i = acknowledged_by(shared.id.bits, local); i < lost.size(); ++i)
    if (comm::has_member_in(shared.peers(), lost[i]))
      return Status(MPIX_ERR_PROC_FAILED_PENDING,
                    pt2pt::process_failed(lost[i]).what() +
                        "; after MPIX_Comm_failure_ack receives from MPI_ANY_SOURCE go on");
  return {};
}

Status judge(const pt2pt::Envelope& pattern, uint32_t local) {
  if (local == pt2pt::kProcessEndpoint) return judge_process_receive(pattern);
  const SharedComm* shared = shared_of(comm::ContextId::of_plane(pattern.ctx), local);
  if (!shared || !shared->broken) return {};
  const bool internal = (pattern.ctx & comm::kPlaneMask) == comm::kPlaneInternal;
  if (internal || shared->broken & comm::kRevoked) return comm::broken_status(*shared);
  if (pattern.source == MPI_ANY_SOURCE) return judge_any_source(*shared, local);
  const int32_t world = shared->peers().world_of(pattern.source);
  if (world < 0) return {};  // not known here; then no process may fail
  const uint32_t process = g_av.process_of(static_cast<uint32_t>(world));
  return pt2pt::is_lost(process) ? pt2pt::process_failed(process) : Status();
}

void begin_trouble() {
  if (g_trouble.troubled) return;
  g_trouble.troubled = true;
  comm::close_all_fast_paths();
}

/// The processes with members of either group: those of side 0 first, then the others. The order is
/// the same everywhere.
std::vector<uint32_t> processes_of(SharedComm* shared) {
  std::vector<uint32_t> all;
  auto add = [&](const comm::Hierarchy& h) {
    for (uint32_t i = 0; i < h.count(); ++i)
      if (std::find(all.begin(), all.end(), h.processes[i]) == all.end())
        all.push_back(h.processes[i]);
  };
  if (!shared->inter) {
    const comm::Hierarchy& h = comm::hierarchy(shared);
    all.resize(h.count());
    for (uint32_t i = 0; i < h.count(); ++i) all[i] = h.processes[i];
    return all;
  }
  add(shared->side == 0 ? comm::hierarchy(shared) : comm::remote_hierarchy(shared));
  add(shared->side == 0 ? comm::remote_hierarchy(shared) : comm::hierarchy(shared));
  return all;
}

/// Calls f(process) for the processes that host members, without this one and lost ones. Where
/// members are not known, it calls f for the neighbours in the tree, through which notices reach
/// all others: then no process may fail (system-ranked/learning.h).
template <class F>
void for_each_to_notify(SharedComm* shared, F&& f) {
  std::vector<uint32_t> processes;
  if (shared->tree && !shared->hierarchy) {
    const auto& place = system_ranked::tree_of(*shared)->place();
    processes = place.children;
    if (place.parent != system_ranked::kNobody) processes.push_back(place.parent);
  } else {
    processes = processes_of(shared);
  }
  for (uint32_t process : processes)
    if (process != g_av.me() && !pt2pt::is_lost(process)) f(process);
}

// ---- Revoking -----------------------------------------------------------------------------------

/// Revokes a communicator in this process. Every process passes the notice on once, so that it
/// reaches all that are left even when some end meanwhile.
void revoke_here(comm::ContextId id) {
  begin_trouble();
  if (!comm::revoke(id)) return;
  pt2pt::end_operations(id.bits, ~uint64_t{0xff},
                        error(MPIX_ERR_REVOKED, "the communicator has been revoked"));
  pt2pt::examine_receives();
  for (uint8_t side : {0, 1}) {
    SharedComm* shared = comm::find_shared(id, side);
    if (!shared || shared->processes < 2) continue;
    for_each_to_notify(shared, [&](uint32_t process) {
      pt2pt::notify(process, pt2pt::kNoticeRevoke, id.bits, nullptr, 0);
    });
  }
}

void on_revoke(uint32_t, uint64_t ctx, const void*, size_t bytes) {
  if (bytes != 0 || ctx != comm::ContextId::of_plane(ctx).bits) return pt2pt::refuse_notice();
  revoke_here({ctx});
}

// ---- Agreements of communicators ----------------------------------------------------------------

uint32_t members_expected(comm::ContextId id) {
  uint32_t n = 0;
  for (uint8_t side : {0, 1})
    if (const SharedComm* shared = comm::find_shared(id, side)) n += shared->members;
  return n;
}

comm::LeaderCandidate reserve_for(const MemberGathering& gathering) {
  const SharedComm& shared = *gathering.members.front()->comm->shared;
  if (shared.id.is_drawn()) return comm::draw_candidate();
  comm::RankState* least = nullptr;
  for (const GatheredMember* m : gathering.members) {
    comm::RankState* r =
        comm::state_of_world(static_cast<uint32_t>(m->comm->shared->map.world_of(m->comm->rank)));
    if (!least || r->led < least->led) least = r;
  }
  return comm::reserve(least);
}

/// The group without the members of the lost processes, from the encoded map, without a list of
/// those that are left.
RankMap without(const RankMap& map, const std::vector<uint32_t>& lost) {
  std::vector<int32_t> worlds, ranks_of_process;
  for (uint32_t process : lost) {
    comm::Hierarchy::ranks_of(map, process, &ranks_of_process);
    for (int32_t rank : ranks_of_process) worlds.push_back(map.world_of(rank));
    ranks_of_process.clear();
  }
  if (worlds.empty()) return map;
  std::sort(worlds.begin(), worlds.end());
  return comm::subtract(map, RankMap::from_ranks(worlds));
}

Status make_shrunk(const MemberGathering& gathering, const std::vector<uint32_t>& processes,
                   const ConsensusValue& decision) {
  std::vector<uint32_t> lost;
  for (size_t i = 0; i < processes.size(); ++i)
    if (decision.lost.has(i)) lost.push_back(processes[i]);
  if (!decision.candidate.valid()) return comm::none_left("MPIX_Comm_shrink");
  SharedComm* made[2] = {nullptr, nullptr};
  for (GatheredMember* m : gathering.members) {
    SharedComm* old = m->comm->shared;
    SharedComm*& shared = made[old->side];
    const int32_t world = old->map.world_of(m->comm->rank);
    if (!shared) {
      const RankMap map = without(old->map, lost);
      const RankMap remote = old->inter ? without(*old->remote, lost) : RankMap();
      if (old->inter && remote.size() == 0)
        return error(
            MPIX_ERR_PROC_FAILED,
            "all members of the remote group have failed; allowed is a group with one left");
      shared = comm::make_shared(
          {decision.candidate.id(), &map, old->inter ? &remote : nullptr, old->members,
           static_cast<uint32_t>(processes.size() - lost.size()), old->side, "MPIX_Comm_shrink"});
    }
    m->status = comm::enter(shared, shared->map.rank_of(world), m->comm, &m->made);
  }
  return {};
}

Status agree_for_all(const MemberGathering& gathering, uint32_t number, const char* call,
                     int* flag) {
  SharedComm* shared = gathering.members.front()->comm->shared;
  const std::vector<uint32_t> processes = processes_of(shared);
  ConsensusValue mine;
  mine.flag = gathering.flag;
  mine.lost = mine.acknowledged = ProcessSet(processes.size());
  const std::vector<uint32_t>& lost = pt2pt::lost_processes();
  for (size_t i = 0; i < lost.size(); ++i) {
    const auto place = std::find(processes.begin(), processes.end(), lost[i]);
    if (place == processes.end()) continue;
    mine.lost.add(static_cast<size_t>(place - processes.begin()));
    if (i < gathering.acknowledged)
      mine.acknowledged.add(static_cast<size_t>(place - processes.begin()));
  }
  const bool shrinks = gathering.purpose == Purpose::kShrink;
  if (shrinks) mine.candidate = reserve_for(gathering);
  const comm::LeaderCandidate candidate = mine.candidate;
  comm::retire_id(shared->id);
  ConsensusValue decision;
  FGMPI_TRY(join({shared->id.bits, number}, processes, std::move(mine), call, &decision));
  *flag = decision.flag;
  if (shrinks) {
    comm::settle(candidate, decision.candidate.id());
    Status made;
    sched::call_on_host([&] { made = make_shrunk(gathering, processes, decision); });
    return made;
  }
  if (decision.acknowledged.contains(decision.lost)) return {};
  for (size_t i = 0; i < processes.size(); ++i)
    if (decision.lost.has(i) && !decision.acknowledged.has(i))
      return pt2pt::process_failed(processes[i]);
  return {};
}

void describe_gathering(const sched::WaitSite*, std::string* out) {
  *out += "for the other ranks of its process";
}

/// Names the next agreement of the calling rank on a communicator. Members begin their agreements
/// in one order, so the name is the same at all of them, however many are under way.
AgreementName next_agreement(const Comm* comm) {
  const uint64_t id = comm->shared->id.bits;
  return {id, g_trouble.begun[id][comm::rank_state()->local]++};
}

/// Waits until the agreement is the communicator's next one in this process. May switch.
void wait_for_order(const AgreementName& name, const char* call) {
  AgreementOrder& order = g_trouble.orders[name.ctx];  // a reference holds while others are added
  if (order.ended == name.number) return;
  order.waiting[name.number] = sched::current();
  sched::WaitSite site{
      call,
      [](const sched::WaitSite*, std::string* out) { *out += "for the agreement before this one"; },
      true};
  sched::park(&site);
}

void end_in_order(const AgreementName& name) {
  AgreementOrder& order = g_trouble.orders[name.ctx];
  order.ended = name.number + 1;
  if (auto next = order.waiting.extract(order.ended)) sched::ready(next.mapped());
}

/// Gathers all members of this process, and agrees for them. Each member calls it. May switch.
Status run_agreement(Comm* comm, const AgreementName& name, Purpose purpose, const char* call,
                     int* flag, Comm** made) {
  SharedComm* shared = comm->shared;
  MemberGathering& gathering = g_trouble.gatherings.try_emplace(name, purpose).first->second;
  if (gathering.purpose != purpose)
    return error(MPI_ERR_OTHER, "another rank of this process is in %s",
                 purpose == Purpose::kAgree ? "MPIX_Comm_shrink" : "MPIX_Comm_agree");
  GatheredMember me;
  me.comm = comm;
  me.proclet = sched::current();
  gathering.members.push_back(&me);
  gathering.flag &= *flag;
  gathering.acknowledged =
      std::min(gathering.acknowledged, acknowledged_by(shared->id.bits, comm::rank_state()->local));
  if (gathering.members.size() < members_expected(shared->id)) {
    sched::WaitSite site{call, describe_gathering, true};
    sched::park(&site);
  } else {
    const MemberGathering all = std::move(gathering);
    g_trouble.gatherings.erase(name);
    int agreed = *flag;
    wait_for_order(name, call);
    const Status status = agree_for_all(all, name.number, call, &agreed);
    end_in_order(name);
    for (GatheredMember* m : all.members) {
      if (m->status.ok() && !status.ok()) m->status = Status(status.error_class(), status.what());
      m->flag = agreed;
      if (m != &me) sched::ready(m->proclet);
    }
  }
  *flag = me.flag;
  *made = me.made;
  return std::move(me.status);
}

// ---- Learning of failures -----------------------------------------------------------------------

void on_failure(uint32_t, uint64_t process, const void*, size_t bytes) {
  if (bytes != 0 || process >= g_av.processes() || process == g_av.me())
    return pt2pt::refuse_notice();
  g_trouble.on_reported_loss(static_cast<uint32_t>(process));
}

/// Sends a notice to the processes of the job that may not detect the loss themselves.
void notify_others(uint32_t lost) {
  for (uint32_t p = 0; p < g_av.processes(); ++p)
    if (p != g_av.me() && !pt2pt::is_lost(p) && !may_notice_loss(p, lost))
      pt2pt::notify(p, pt2pt::kNoticeFailure, lost, nullptr, 0);
}

void forget(comm::ContextId id) {
  g_trouble.acknowledged.erase(id.bits);
  g_trouble.begun.erase(id.bits);
  g_trouble.orders.erase(id.bits);
  on_dropped(id);
}

}  // namespace

void start() {
  if (std::exchange(g_trouble.started, true)) return;
  init_agreements();
  pt2pt::set_receive_judge(judge);
  pt2pt::set_notice_handler(pt2pt::kNoticeRevoke, on_revoke);
  pt2pt::set_notice_handler(pt2pt::kNoticeFailure, on_failure);
  comm::add_dropped_handler(forget);
}

bool may_notice_loss(uint32_t one, uint32_t other) {
  static const bool shares = transport::is_wanted("shm");
  return shares && g_hosts.host_of(one) == g_hosts.host_of(other);
}

void set_reported_loss_handler(void (*handler)(uint32_t process)) {
  g_trouble.on_reported_loss = handler;
}

bool process_lost(uint32_t process, bool pass_on) {
  if (pt2pt::is_lost(process)) return false;
  begin_trouble();
  pt2pt::lose_process(process);
  comm::break_by_loss();
  pt2pt::examine_receives();
  on_lost(process);
  if (pass_on && process < g_av.processes()) notify_others(process);
  return true;
}

bool troubled() { return g_trouble.troubled; }

void revoke(Comm* comm) { revoke_here(comm->shared->id); }

void acknowledge(Comm* comm) {
  const uint32_t local = comm::rank_state()->local;
  g_trouble.acknowledged[comm->shared->id.bits][local] = pt2pt::lost_processes().size();
  pt2pt::resume_receives(local);
}

namespace {

/// Appends the world ranks of the members of either group in a process.
void append_members(const SharedComm& shared, uint32_t process, std::vector<int32_t>* worlds) {
  std::vector<int32_t> ranks;
  comm::Hierarchy::ranks_of(shared.map, process, &ranks);
  for (int32_t rank : ranks) worlds->push_back(shared.map.world_of(rank));
  if (!shared.inter) return;
  ranks.clear();
  comm::Hierarchy::ranks_of(*shared.remote, process, &ranks);
  for (int32_t rank : ranks) worlds->push_back(shared.remote->world_of(rank));
}

}  // namespace

RankMap failed(const Comm* comm) {
  std::vector<int32_t> worlds;
  for (uint32_t process : pt2pt::lost_processes()) append_members(*comm->shared, process, &worlds);
  return RankMap::from_ranks(worlds);
}

int32_t acknowledge(Comm* comm, int32_t wanted) {
  const std::vector<uint32_t>& lost = pt2pt::lost_processes();
  const uint32_t local = comm::rank_state()->local;
  const uint64_t id = comm->shared->id.bits;
  const size_t before = acknowledged_by(id, local);
  std::vector<int32_t> members;
  size_t count = 0;
  while (count < lost.size() && (count < before || members.size() < static_cast<size_t>(wanted)))
    append_members(*comm->shared, lost[count++], &members);
  if (count > before) {
    g_trouble.acknowledged[id][local] = count;
    pt2pt::resume_receives(local);
  }
  return static_cast<int32_t>(members.size());
}

bool is_revoked(const Comm* comm) { return comm->shared->broken & comm::kRevoked; }

RankMap acknowledged(Comm* comm) {
  const std::vector<uint32_t>& lost = pt2pt::lost_processes();
  const size_t count = acknowledged_by(comm->shared->id.bits, comm::rank_state()->local);
  const RankMap& peers = comm->shared->peers();
  std::vector<int32_t> ranks, worlds;
  for (size_t i = 0; i < count; ++i) comm::Hierarchy::ranks_of(peers, lost[i], &ranks);
  std::sort(ranks.begin(), ranks.end());
  for (int32_t rank : ranks) worlds.push_back(peers.world_of(rank));
  return RankMap::from_ranks(worlds);
}

Status agree(Comm* comm, int* flag) {
  Comm* none = nullptr;
  return run_agreement(comm, next_agreement(comm), Purpose::kAgree, "MPIX_Comm_agree", flag, &none);
}

Status shrink(Comm* comm, Comm** out) {
  int flag = 0;
  return run_agreement(comm, next_agreement(comm), Purpose::kShrink, "MPIX_Comm_shrink", &flag,
                       out);
}

namespace {

/// An agreement that a helper coroutine runs.
class AgreementRequest final : public pt2pt::Request {
 public:
  AgreementRequest(Comm* c, Purpose p, const char* name) : comm(c), purpose(p) {
    call = name;
    comm_ref = c;
    comm->retain();
    agreement = next_agreement(comm);
  }
  ~AgreementRequest() override { comm_ref->release(); }
  ToolEvent tool_event() const override {
    if (!made) return {};
    return {.what = ToolEvent::kCommunicator, .first = made->handle};
  }
  static void run(void* request) {
    auto* self = static_cast<AgreementRequest*>(request);
    int value = self->value;
    self->outcome.error =
        run_agreement(self->comm, self->agreement, self->purpose, self->call, &value, &self->made);
    if (self->flag) *self->flag = value;
    if (self->newcomm && self->made) *self->newcomm = self->made->handle;
    self->set_complete();
  }

  Comm* comm;
  Purpose purpose;
  AgreementName agreement;
  int value = 0;  ///< the flag when the call was made
  int* flag = nullptr;
  MPI_Comm* newcomm = nullptr;
  Comm* made = nullptr;
};

void begin(AgreementRequest* request) {
  sched::spawn_helper(sched::current(), AgreementRequest::run, request);
}

}  // namespace

Status iagree(Comm* comm, int* flag, const char* call, pt2pt::Request** out) {
  FGMPI_TRY(sched::ensure_helper());
  auto* request = new AgreementRequest(comm, Purpose::kAgree, call);
  request->flag = flag;
  request->value = *flag;
  *out = request;
  begin(request);
  return {};
}

Status ishrink(Comm* comm, MPI_Comm* newcomm, const char* call, pt2pt::Request** out) {
  FGMPI_TRY(sched::ensure_helper());
  auto* request = new AgreementRequest(comm, Purpose::kShrink, call);
  request->newcomm = newcomm;
  *out = request;
  begin(request);
  return {};
}

void agree_to_end() {
  std::vector<uint32_t> processes(g_av.processes());
  for (uint32_t p = 0; p < processes.size(); ++p) processes[p] = p;
  ConsensusValue mine, decision;
  mine.lost = mine.acknowledged = ProcessSet(processes.size());
  const Status status = join({kEndContext, 0}, processes, mine, "the end of the job", &decision);
  if (!status.ok())
    std::fprintf(stderr, "fgmpi: at the end of the job: %s\n", status.what().c_str());
}

bool end_is_agreed() { return is_decided({kEndContext, 0}); }

Status check_usable(const Comm* comm) {
  return comm->shared->broken & comm::kRevoked ? comm::broken_status(*comm->shared) : Status();
}

Status check_receive(const Comm* comm, int source, int tag) {
  if (source == MPI_PROC_NULL) return check_usable(comm);
  return pt2pt::refusal({comm->shared->id.plane(comm::kPlanePt2pt), source, tag},
                        comm::rank_state()->local);
}

}  // namespace fgmpi::survivors
