// The agreement of processes on a multicast group for a communicator, and its end.

#include "multicast/comm_groups.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/list.h"
#include "base/settings.h"
#include "base/strings.h"
#include "ch4-av-rankmap/hosts.h"
#include "multicast/subgroups.h"
#include "proclet-sched/sched.h"
#include "pt2pt/pt2pt.h"
#include "transport/random.h"

namespace fgmpi::multicast {
namespace {

// ---- Notices ------------------------------------------------------------------------------------

enum GroupNoticeKind : uint32_t { kOffer = 1, kForm, kJoined, kVerdict, kClose, kCollision, kMove };

struct OfferNotice {
  uint32_t kind = kOffer;
  uint32_t payload = 0;  ///< 0: this process cannot multicast
  MulticastAddress own;
  uint32_t zero = 0;
};
struct MulticastMember {
  uint32_t process;
  MulticastAddress own;
};
/// The head of a notice; `here` members follow, the first of which is member `first`.
struct FormNotice {
  uint32_t kind = kForm;
  uint32_t payload = 0;
  uint64_t id = 0;
  GroupKey key{};
  MulticastAddress address;
  uint32_t count = 0, first = 0, here = 0;
};
/// A notice of another kind.
struct GroupNotice {
  uint32_t kind = 0;
  uint32_t outside = 0;      ///< kJoined: the member is not joined to the address
  uint64_t id = 0;           ///< kVerdict: 0: no multicast
  MulticastAddress address;  ///< kMove
  uint32_t moves = 0;        ///< kCollision: moves of the group so far
};
constexpr size_t kMostMembersHere = (1024 - sizeof(FormNotice)) / sizeof(MulticastMember);

void notify(uint32_t process, uint64_t ctx, const void* notice, size_t bytes) {
  pt2pt::notify(process, pt2pt::kNoticeMulticast, ctx, notice, bytes);
}

// ---- State --------------------------------------------------------------------------------------

/// A set of processes that has a group, or has tried to form one.
struct ProcessGroup {
  uint64_t id = 0;
  std::vector<MulticastMember> members;  ///< ascending by process
  uint32_t known = 0;                    ///< number of members that notices have brought so far
  FormNotice form;
  Membership* membership = nullptr;
  uint32_t comms = 0;   ///< communicators of this process that use it
  bool closed = false;  ///< member 0 has announced that none of its communicators uses it
  // Only member 0 uses the rest.
  enum Stage : uint8_t { kJoining, kProbing, kWorks } stage = kJoining;
  uint32_t joined = 0;
  std::vector<uint32_t> outside;
  std::vector<uint64_t> waiting;  ///< contexts of communicators that wait for its verdict
};

/// A collective that waits for the verdict.
struct VerdictRequest final : pt2pt::Request {
  uint64_t ctx = 0;
  int32_t tag = 0;
  VerdictRequest *next = nullptr, *prev = nullptr;
  void describe(std::string* out) const override {
    *out += call;
    *out += " (agreeing on a multicast group)";
  }
  void end() { set_complete(); }
};

struct Offer {
  uint32_t process;
  OfferNotice notice;
};

/// A communicator, by its context id.
struct CommGroup {
  std::vector<uint32_t> processes;  ///< ascending; empty: no collective here wanted the group
  std::vector<Offer> offers;        ///< at member 0: the offers of all members so far
  bool offered = false, decided = false;
  ProcessGroup* group = nullptr;  ///< valid if `decided`; nullptr: no group
  List<VerdictRequest> waiting;
};

struct MulticastState {
  std::unordered_map<uint64_t, CommGroup> comms;
  std::unordered_map<uint64_t, std::unique_ptr<ProcessGroup>> groups;
  bool told = false;  ///< the user knows why multicast is not used
  void (*on_unexpected)(uint64_t, int32_t, pt2pt::Signature, uint32_t) = nullptr;
};
/// Never destroyed, as programs use MPI until they end.
MulticastState& g_state = *new MulticastState;

ProcessGroup* find_group(uint64_t id) {
  auto it = g_state.groups.find(id);
  return it == g_state.groups.end() ? nullptr : it->second.get();
}

bool has_processes(const ProcessGroup& group, const std::vector<uint32_t>& processes) {
  return std::equal(
      group.members.begin(), group.members.end(), processes.begin(), processes.end(),
      [](const MulticastMember& m, uint32_t process) { return m.process == process; });
}

void report_why_not(const std::string& why) {
  if (std::exchange(g_state.told, true) || !settings::on(settings::kVerbose)) return;
  std::fprintf(stderr, "fgmpi: collectives go without multicast: %s\n", why.c_str());
}

// ---- Member 0 -----------------------------------------------------------------------------------

/// Sends the verdict to all members of a communicator. The notice to this process is handled
/// at once.
void send_verdict(uint64_t ctx, uint64_t id) {
  auto it = g_state.comms.find(ctx);
  if (it == g_state.comms.end()) return;  // freed here meanwhile: its collectives have failed
  const std::vector<uint32_t> processes = it->second.processes;
  GroupNotice verdict;
  verdict.kind = kVerdict;
  verdict.id = id;
  for (uint32_t process : processes) notify(process, ctx, &verdict, sizeof verdict);
}

void drop_if_unused(ProcessGroup* group);

void conclude_group(ProcessGroup* group, bool works) {
  group->stage = ProcessGroup::kWorks;
  const std::vector<uint64_t> waiting = std::exchange(group->waiting, {});
  for (uint64_t ctx : waiting) send_verdict(ctx, works ? group->id : 0);
  drop_if_unused(group);
}

void on_probed(Membership* membership, bool all) {
  ProcessGroup* group = find_group(membership->group.id());
  if (!group) return;
  if (!all) {
    std::string why = format("datagrams to a group do not arrive at %u of %zu processes",
                             membership->probe.missing, group->members.size());
    service().set_broken(why);
    report_why_not(why);
  }
  conclude_group(group, all);
}

/// Makes a new group of the members of a communicator, whose offers have all come.
void form(uint64_t ctx, CommGroup* comm) {
  auto owned = std::make_unique<ProcessGroup>();
  ProcessGroup* group = owned.get();
  transport::random_bytes(&group->id, sizeof group->id);
  group->id |= 1;
  FormNotice head;
  head.id = group->id;
  transport::random_bytes(&head.key, sizeof head.key);
  head.payload = ~0u;
  for (uint32_t process : comm->processes) {
    auto offer = std::find_if(comm->offers.begin(), comm->offers.end(),
                              [&](const Offer& o) { return o.process == process; });
    group->members.push_back({process, offer->notice.own});
    head.payload = std::min(head.payload, offer->notice.payload);
  }
  head.address = draw_address(group->members.front().own.family);
  head.count = static_cast<uint32_t>(group->members.size());
  group->waiting.push_back(ctx);
  group->form = head;
  g_state.groups.emplace(group->id, std::move(owned));
  const std::vector<MulticastMember> members = group->members;
  for (uint32_t first = 0; first < head.count; first += kMostMembersHere) {
    head.first = first;
    head.here = std::min<uint32_t>(kMostMembersHere, head.count - first);
    char notice[1024];
    std::memcpy(notice, &head, sizeof head);
    std::memcpy(notice + sizeof head, &members[first], head.here * sizeof(MulticastMember));
    for (const MulticastMember& m : members)
      notify(m.process, ctx, notice, sizeof head + head.here * sizeof(MulticastMember));
  }
}

/// Returns why these processes cannot form a group, or "".
std::string why_not(const CommGroup& comm) {
  if (!service().why_not().empty()) return service().why_not();
  for (const Offer& offer : comm.offers) {
    if (offer.notice.payload == 0) return format("process %u cannot", offer.process);
    if (offer.notice.own.family != comm.offers.front().notice.own.family)
      return format("processes %u and %u have no addresses of one family",
                    comm.offers.front().process, offer.process);
  }
  return comm.processes.size() > 65'535 ? "there are more than 65,535 processes" : "";
}

void decide_if_complete(uint64_t ctx, CommGroup* comm) {
  if (comm->decided || comm->processes.empty()) return;
  for (uint32_t process : comm->processes)
    if (std::none_of(comm->offers.begin(), comm->offers.end(),
                     [&](const Offer& o) { return o.process == process; }))
      return;
  const std::string why = why_not(*comm);
  if (!why.empty()) {
    report_why_not(why);
    return send_verdict(ctx, 0);
  }
  for (auto& [id, group] : g_state.groups) {
    if (group->closed || !has_processes(*group, comm->processes)) continue;
    if (group->stage == ProcessGroup::kWorks) return send_verdict(ctx, id);
    group->waiting.push_back(ctx);
    return;
  }
  form(ctx, comm);
}

void on_offer(uint32_t from, uint64_t ctx, const OfferNotice& notice) {
  CommGroup& comm = g_state.comms[ctx];
  if (std::any_of(comm.offers.begin(), comm.offers.end(),
                  [&](const Offer& o) { return o.process == from; }))
    return pt2pt::refuse_notice();
  comm.offers.push_back({from, notice});
  decide_if_complete(ctx, &comm);
}

void on_joined(const GroupNotice& notice, uint32_t from) {
  ProcessGroup* group = find_group(notice.id);
  auto is_from = [&](const MulticastMember& m) { return m.process == from; };
  if (!group || group->stage != ProcessGroup::kJoining || !group->membership)
    return pt2pt::refuse_notice();
  auto member = std::find_if(group->members.begin(), group->members.end(), is_from);
  if (member == group->members.end()) return pt2pt::refuse_notice();
  const auto index = static_cast<uint32_t>(member - group->members.begin());
  if (notice.outside && index != group->membership->group.me()) {
    group->outside.push_back(index);
    group->membership->group.doubt(index);
  }
  if (++group->joined < group->members.size()) return;
  group->stage = ProcessGroup::kProbing;
  service().probe(group->membership, group->outside, on_probed);
}

/// Moves a group after a member has received strangers' packets. `moves` is the number of moves
/// that the member knew of: others may have reported the same strangers, and one move is enough.
void on_collision_at(uint64_t id, uint32_t moves, uint64_t ctx) {
  ProcessGroup* group = find_group(id);
  if (!group || group->closed || !group->membership || group->members[0].process != g_av.me())
    return;
  if (moves != group->membership->moves) return;
  GroupNotice move;
  move.kind = kMove;
  move.id = id;
  move.address = draw_address(group->form.address.family);
  const std::vector<MulticastMember> members = group->members;
  for (const MulticastMember& m : members) notify(m.process, ctx, &move, sizeof move);
}

// ---- Every member -------------------------------------------------------------------------------

/// Leaves the group once neither communicators of this process nor member 0 need it.
void drop_if_unused(ProcessGroup* group) {
  if (group->comms > 0) return;
  const bool is_first = group->members[0].process == g_av.me();
  if (is_first && !group->closed && group->waiting.empty()) {
    GroupNotice close;
    close.kind = kClose;
    close.id = group->id;
    group->closed = true;
    for (const MulticastMember& m : group->members)
      if (m.process != g_av.me()) notify(m.process, 0, &close, sizeof close);
  }
  if (!group->closed) return;
  if (group->membership) service().leave(group->membership);
  g_state.groups.erase(group->id);
}

void on_form(uint32_t from, const FormNotice& head, const MulticastMember* members) {
  if (head.count < 2 || head.count > 65'535 || head.first > head.count ||
      head.here > head.count - head.first || head.id == 0 || head.payload == 0 ||
      head.payload > service().most_payload())
    return pt2pt::refuse_notice();
  std::unique_ptr<ProcessGroup>& owned = g_state.groups[head.id];
  if (!owned) {
    owned = std::make_unique<ProcessGroup>();
    owned->id = head.id;
    owned->form = head;
  }
  ProcessGroup* group = owned.get();
  if (group->membership || group->form.count != head.count || group->known != head.first)
    return pt2pt::refuse_notice();
  group->members.resize(head.count);
  std::copy_n(members, head.here, &group->members[head.first]);
  group->known += head.here;
  if (group->known < head.count) return;
  GroupSpec spec;
  spec.id = head.id;
  spec.key = head.key;
  spec.address = head.address;
  spec.options.payload = head.payload;
  spec.options.degree = static_cast<uint32_t>(settings::number(settings::kMulticastTree));
  // The bytes that a member stores for all roots together are bounded; all members compute the
  // same numbers.
  constexpr size_t kKeptAtMost = 16 << 20;
  spec.options.eager_quota = std::clamp<size_t>(kKeptAtMost / head.count, 32 << 10, 256 << 10);
  spec.options.eager = std::min(spec.options.eager, spec.options.eager_quota / 2);
  spec.options.most_window = service().most_window(head.payload);
  spec.options.bundle = service().bundle(head.payload);
  spec.options.most_bundled_window = service().most_bundled_window(head.payload);
  transport::random_bytes(&spec.options.seed, sizeof spec.options.seed);
  spec.me = ~0u;
  for (uint32_t i = 0; i < head.count; ++i) {
    if (group->members[i].process == g_av.me()) spec.me = i;
    spec.members.push_back(group->members[i].own);
    spec.processes.push_back(group->members[i].process);
  }
  if (spec.me == ~0u || group->members[0].process != from ||
      !service().join(spec, &group->membership).ok()) {
    g_state.groups.erase(head.id);
    return pt2pt::refuse_notice();
  }
  GroupNotice joined;
  joined.kind = kJoined;
  joined.outside = !group->membership->socket;
  joined.id = head.id;
  notify(from, 0, &joined, sizeof joined);
}

void on_verdict(uint64_t ctx, const GroupNotice& notice) {
  auto it = g_state.comms.find(ctx);
  if (it == g_state.comms.end() || it->second.decided) return pt2pt::refuse_notice();
  CommGroup& comm = it->second;
  comm.decided = true;
  comm.offers = {};
  comm.group = notice.id ? find_group(notice.id) : nullptr;
  if (comm.group) ++comm.group->comms;
  while (VerdictRequest* waiting = comm.waiting.front()) {
    comm.waiting.remove(waiting);
    waiting->end();
  }
}

void on_group_notice(uint32_t from, uint64_t ctx, const GroupNotice& notice) {
  if (notice.kind == kVerdict) return on_verdict(ctx, notice);
  if (notice.kind == kJoined) return on_joined(notice, from);
  if (notice.kind == kCollision) return on_collision_at(notice.id, notice.moves, ctx);
  ProcessGroup* group = find_group(notice.id);
  if (!group || group->members[0].process != from) return pt2pt::refuse_notice();
  if (notice.kind == kClose) {
    group->closed = true;
    drop_if_unused(group);
  } else if (group->membership && notice.address.family == group->form.address.family) {
    service().move(group->membership, notice.address);
  }
}

void on_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  uint32_t kind = 0;
  if (bytes >= sizeof kind) std::memcpy(&kind, data, sizeof kind);
  if (kind == kOffer && bytes == sizeof(OfferNotice)) {
    OfferNotice notice;
    std::memcpy(&notice, data, sizeof notice);
    return on_offer(from, ctx, notice);
  }
  if (kind == kForm && bytes > sizeof(FormNotice)) {
    FormNotice head;
    std::memcpy(&head, data, sizeof head);
    std::vector<MulticastMember> members(kMostMembersHere);
    if (head.here == 0 || head.here > kMostMembersHere ||
        bytes != sizeof head + head.here * sizeof(MulticastMember))
      return pt2pt::refuse_notice();
    std::memcpy(members.data(), static_cast<const char*>(data) + sizeof head,
                head.here * sizeof(MulticastMember));
    return on_form(from, head, members.data());
  }
  if (kind >= SubgroupNotice::kReleased && kind <= SubgroupNotice::kMove &&
      bytes == sizeof(SubgroupNotice)) {
    SubgroupNotice notice;
    std::memcpy(&notice, data, sizeof notice);
    return on_subgroup_notice(from, ctx, notice);
  }
  if (kind < kJoined || kind > kMove || bytes != sizeof(GroupNotice)) return pt2pt::refuse_notice();
  GroupNotice notice;
  std::memcpy(&notice, data, sizeof notice);
  on_group_notice(from, ctx, notice);
}

void on_collision(Membership* membership) {
  const ProcessGroup* group = find_group(membership->group.id());
  if (!group) return on_subgroup_collision(membership);
  GroupNotice notice;
  notice.kind = kCollision;
  notice.id = group->id;
  notice.moves = membership->moves;
  notify(group->members[0].process, 0, &notice, sizeof notice);
}

/// Handles a transfer that nobody here expects: its root may have other arguments, for instance
/// another root.
void on_unexpected(Membership* membership, uint32_t root, const Match& match) {
  const ProcessGroup* group = find_group(membership->group.id());
  if (group && root < group->members.size() && g_state.on_unexpected)
    g_state.on_unexpected(match.ctx, match.tag, match.signature, group->members[root].process);
}

/// Sends this process's offer for a communicator, for the first collective that wants the group.
void offer(uint64_t ctx, const MulticastCaller& caller, CommGroup* comm) {
  comm->offered = true;
  for (uint32_t p = 0; p < caller.count(); ++p) comm->processes.push_back(caller.process(p));
  std::sort(comm->processes.begin(), comm->processes.end());
  const uint32_t first = comm->processes.front();
  bool able = false;
  sched::call_on_host([&] { able = service().start(g_hosts.is_shared(g_av.me())).ok(); });
  OfferNotice notice;
  if (able) {
    service().set_on_collision(on_collision);
    service().set_on_unexpected(on_unexpected);
    notice.payload = static_cast<uint32_t>(service().most_payload());
    notice.own = service().own();
  }
  notify(first, ctx, &notice, sizeof notice);
}

}  // namespace

void init_groups() { pt2pt::set_notice_handler(pt2pt::kNoticeMulticast, on_notice); }

void set_unexpected_handler(void (*handler)(uint64_t ctx, int32_t tag, pt2pt::Signature signature,
                                            uint32_t process)) {
  g_state.on_unexpected = handler;
}

uint32_t least_hosts() {
  switch (mode()) {
    case MulticastMode::kAuto:
      return 4;
    case MulticastMode::kOn:
      return 2;
    case MulticastMode::kOff:
      return 0;
  }
  return 0;
}

Status group_of(const MulticastCaller& caller, Membership** out) {
  const uint64_t ctx = comm::ContextId::of_plane(caller.ctx).bits;
  *out = nullptr;
  CommGroup* comm = &g_state.comms[ctx];
  if (__builtin_expect(!comm->decided, 0)) {
    if (caller.failed()) return caller.failure();
    VerdictRequest waiting;
    waiting.call = caller.call;
    waiting.ctx = caller.ctx;
    waiting.tag = caller.tag;
    comm->waiting.push_back(&waiting);
    if (!comm->offered) offer(ctx, caller, comm);
    pt2pt::wait(&waiting, caller.call);
    if (caller.failed()) return caller.failure();
    comm = &g_state.comms[ctx];
  }
  if (comm->group) *out = comm->group->membership;
  return {};
}

bool spec_of_subgroup(const MulticastCaller& caller, const std::vector<uint32_t>& members,
                      GroupSpec* out) {
  auto it = g_state.comms.find(comm::ContextId::of_plane(caller.ctx).bits);
  if (it == g_state.comms.end() || !it->second.group || !it->second.group->membership) return false;
  const ProcessGroup& group = *it->second.group;
  std::vector<uint32_t> processes;
  for (uint32_t member : members) {
    if (member >= caller.count()) return false;
    processes.push_back(caller.process(member));
  }
  std::sort(processes.begin(), processes.end());
  out->options = group.membership->group.options();
  out->me = ~0u;
  out->members.clear();
  out->processes = processes;
  for (uint32_t process : processes) {
    auto member =
        std::lower_bound(group.members.begin(), group.members.end(), process,
                         [](const MulticastMember& m, uint32_t p) { return m.process < p; });
    if (member == group.members.end() || member->process != process) return false;
    if (process == g_av.me()) out->me = static_cast<uint32_t>(out->members.size());
    out->members.push_back(member->own);
  }
  return out->me != ~0u;
}

void forget_comm(comm::ContextId id) {
  if (g_state.comms.empty()) return;
  forget_subgroups(id);
  auto it = g_state.comms.find(id.bits);
  if (it == g_state.comms.end()) return;
  ProcessGroup* group = it->second.group;
  g_state.comms.erase(it);
  if (!group) return;
  --group->comms;
  drop_if_unused(group);
}

void cancel_transfers(uint64_t ctx, int32_t tag, int32_t mask) {
  auto it = g_state.comms.find(comm::ContextId::of_plane(ctx).bits);
  if (it == g_state.comms.end()) return;
  CommGroup& comm = it->second;
  for (VerdictRequest* w = comm.waiting.front(); w;) {
    VerdictRequest* next = w->next;
    if (w->ctx == ctx && ((w->tag ^ tag) & ~mask) == 0) {
      comm.waiting.remove(w);
      w->end();
    }
    w = next;
  }
  if (comm.decided && comm.group) service().give_up(ctx, tag, mask);
}

}  // namespace fgmpi::multicast
