// Subgroups of some members, by each of the three schemes: making, entering, keeping and
// dropping them.

#include "multicast/subgroups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/count_words.h"
#include "base/settings.h"
#include "transport/random.h"

namespace fgmpi::multicast {
namespace {

/// A subgroup that is kept with a communicator. Its members are those of the team with these ranks.
struct CachedSubgroup {
  SubgroupTicket ticket;
  uint32_t root = 0;  ///< process of its root
  std::vector<uint32_t> members;
  Membership* membership = nullptr;
  std::vector<uint32_t> processes;  ///< at the root: processes of the other members
  uint32_t uses = 0;                ///< calls of this process that are using it
  uint64_t calls = 0;               ///< calls of this process that have entered it
  /// The number of calls after which its root has ended it: this process leaves it once it has been
  /// in all of them.
  uint64_t last_call = kNotDropped;
  static constexpr uint64_t kNotDropped = UINT64_MAX;
  bool is_over() const { return uses == 0 && calls >= last_call; }
};

/// By the communicator's context id; the subgroup that was used last comes first.
std::unordered_map<uint64_t, std::vector<CachedSubgroup>>& kept() {
  static auto& all = *new std::unordered_map<uint64_t, std::vector<CachedSubgroup>>;
  return all;
}
std::vector<CachedSubgroup>* cached_subgroups_of(const MulticastCaller& caller) {
  auto it = kept().find(comm::ContextId::of_plane(caller.ctx).bits);
  return it == kept().end() ? nullptr : &it->second;
}

std::vector<CachedSubgroup>::iterator find(std::vector<CachedSubgroup>* list, uint64_t id) {
  return std::find_if(list->begin(), list->end(),
                      [&](const CachedSubgroup& k) { return k.ticket.id == id; });
}

void give_back(std::vector<CachedSubgroup>* list, std::vector<CachedSubgroup>::iterator which) {
  if (which->membership) service().leave(which->membership);
  list->erase(which);
}

/// Makes room for one more subgroup of this process. Returns false if all that it may keep are
/// in use.
bool make_room(std::vector<CachedSubgroup>* list, uint32_t me, uint64_t* dropped) {
  const auto is_own = [&](const CachedSubgroup& k) { return k.root == me; };
  if (std::count_if(list->begin(), list->end(), is_own) <
      static_cast<ptrdiff_t>(kMostCachedSubgroups))
    return true;
  auto eldest = std::find_if(list->rbegin(), list->rend(),
                             [&](const CachedSubgroup& k) { return is_own(k) && k.uses == 0; });
  if (eldest == list->rend()) return false;
  *dropped = eldest->ticket.id;
  give_back(list, std::next(eldest).base());
  return true;
}

/// Moves this member to the group's address after `moves` moves, unless it has moved before. A
/// member that has yet to enter the group stores the address until it enters.
void follow(CachedSubgroup* which, const MulticastAddress& address, uint32_t moves) {
  if (moves <= which->ticket.moves) return;
  if (which->membership) {
    if (address.family != which->ticket.address.family) return;
    service().move(which->membership, address);
  }
  which->ticket.address = address;
  which->ticket.moves = moves;
}

Membership* join(const MulticastCaller& caller, const std::vector<uint32_t>& members,
                 const SubgroupTicket& ticket, bool is_root) {
  GroupSpec spec;
  if (!spec_of_subgroup(caller, members, &spec)) return nullptr;
  spec.id = ticket.id;
  spec.key = ticket.key;
  spec.address = ticket.address;
  spec.options.eager_quota = spec.options.eager + spec.options.payload;
  Membership* membership = nullptr;
  if (ticket.id == 0 || !service().join(spec, &membership).ok()) return nullptr;
  if (is_root) membership->group.expect_joins();
  return membership;
}

}  // namespace

Scheme scheme() {
  static const auto chosen = settings::choice<Scheme>(settings::kMulticastGroups);
  return chosen;
}

SubgroupTicket announce_subgroup(const MulticastCaller& caller,
                                 const std::vector<uint32_t>& members, bool keep) {
  SubgroupTicket ticket;
  const uint32_t me = caller.process(caller.me);
  if (scheme() != Scheme::kOpened) keep = false;
  if (keep) {
    std::vector<CachedSubgroup>& list = kept()[comm::ContextId::of_plane(caller.ctx).bits];
    auto known = std::find_if(list.begin(), list.end(), [&](const CachedSubgroup& k) {
      return k.root == me && k.members == members;
    });
    if (known != list.end()) {
      std::rotate(list.begin(), known, known + 1);
      return list.front().ticket;
    }
    keep = make_room(&list, me, &ticket.dropped);
  }
  ticket.how = keep ? SubgroupTicket::kKept : SubgroupTicket::kOnce;
  transport::random_bytes(&ticket.id, sizeof ticket.id);
  ticket.id |= 1;
  transport::random_bytes(&ticket.key, sizeof ticket.key);
  ticket.address = draw_address(service().own().family);
  return ticket;
}

Membership* enter_subgroup(const MulticastCaller& caller, uint32_t root,
                           const std::vector<uint32_t>& members, const SubgroupTicket& ticket) {
  const bool is_root = caller.me == root;
  if (ticket.how == SubgroupTicket::kOnce) return join(caller, members, ticket, is_root);
  if (ticket.how != SubgroupTicket::kKept) return nullptr;
  std::vector<CachedSubgroup>& list = kept()[comm::ContextId::of_plane(caller.ctx).bits];
  auto known = find(&list, ticket.id);
  if (known == list.end() || (!known->membership && known->root == caller.process(root))) {
    Membership* membership = join(caller, members, ticket, is_root);
    if (!membership) return nullptr;
    if (known == list.end())
      known =
          list.insert(list.begin(), CachedSubgroup{ticket, caller.process(root), {}, nullptr, {}});
    known->members = members;
    known->membership = membership;
    const SubgroupTicket heard = std::exchange(known->ticket, ticket);
    known->ticket.dropped = 0;
    follow(&*known, heard.address, heard.moves);
    for (uint32_t m : members)
      if (is_root && m != root) known->processes.push_back(caller.process(m));
  } else if (known->root != caller.process(root) || known->members != members) {
    return nullptr;
  } else {
    follow(&*known, ticket.address, ticket.moves);
  }
  ++known->uses;
  ++known->calls;
  return known->membership;
}

void drop_subgroup(const MulticastCaller& caller, uint32_t root, const SubgroupTicket& ticket) {
  std::vector<CachedSubgroup>* list = cached_subgroups_of(caller);
  if (!list || ticket.dropped == 0) return;
  auto which = find(list, ticket.dropped);
  if (which == list->end() || which->root != caller.process(root)) return;
  which->last_call = 0;
  if (which->is_over()) give_back(list, which);
}

void release_subgroups(comm::ContextId id) {
  auto it = kept().find(id.bits);
  if (it == kept().end()) return;
  std::vector<CachedSubgroup>& list = it->second;
  for (size_t i = list.size(); i-- > 0;) {
    if (list[i].root != g_av.me() || list[i].uses > 0) continue;
    SubgroupNotice notice;
    notice.id = list[i].ticket.id;
    notice.calls = list[i].calls;
    const std::vector<uint32_t> processes = list[i].processes;
    give_back(&list, list.begin() + static_cast<std::ptrdiff_t>(i));
    for (uint32_t process : processes)
      pt2pt::notify(process, pt2pt::kNoticeMulticast, id.bits, &notice, sizeof notice);
  }
}

namespace {

/// Finds a subgroup that a root's notice names. It is added where this process is late, and its
/// calls are still to come.
std::vector<CachedSubgroup>::iterator find_or_add(std::vector<CachedSubgroup>* list, uint32_t root,
                                                  uint64_t id) {
  auto which = find(list, id);
  if (which != list->end()) return which;
  SubgroupTicket ticket;
  ticket.id = id;
  return list->insert(list->end(), CachedSubgroup{ticket, root, {}, nullptr, {}});
}

void on_released(uint32_t from, comm::ContextId id, const SubgroupNotice& notice) {
  if (from == g_av.me()) return pt2pt::refuse_notice();
  std::vector<CachedSubgroup>& list = kept()[id.bits];
  auto which = find_or_add(&list, from, notice.id);
  if (which->root != from) return pt2pt::refuse_notice();
  which->last_call = notice.calls;
  if (which->is_over()) give_back(&list, which);
}

void on_move(uint32_t from, comm::ContextId id, const SubgroupNotice& notice) {
  if (from == g_av.me()) return pt2pt::refuse_notice();
  auto which = find_or_add(&kept()[id.bits], from, notice.id);
  if (which->root != from) return pt2pt::refuse_notice();
  follow(&*which, notice.address, notice.moves);
}

/// Moves a subgroup, at its root, after a member has received strangers' packets. `seen.moves` is
/// the number of moves that the member knew of: others may have reported the same strangers, and
/// one move is enough.
void on_collision_at(comm::ContextId id, const SubgroupNotice& seen) {
  std::vector<CachedSubgroup>& list = kept()[id.bits];
  auto which = find(&list, seen.id);
  if (which == list.end()) return;  // it has been ended
  if (which->root != g_av.me()) return pt2pt::refuse_notice();
  if (!which->membership || seen.moves != which->ticket.moves) return;
  SubgroupNotice notice;
  notice.kind = SubgroupNotice::kMove;
  notice.id = seen.id;
  notice.moves = seen.moves + 1;
  notice.address = draw_address(which->ticket.address.family);
  follow(&*which, notice.address, notice.moves);
  for (uint32_t process : which->processes)
    pt2pt::notify(process, pt2pt::kNoticeMulticast, id.bits, &notice, sizeof notice);
}

}  // namespace

void on_subgroup_notice(uint32_t from, uint64_t ctx, const SubgroupNotice& notice) {
  const auto id = comm::ContextId::of_plane(ctx);
  if (notice.id == 0) return pt2pt::refuse_notice();
  if (!comm::find_shared(id)) return;  // freed here: the subgroup ended with its communicator
  switch (notice.kind) {
    case SubgroupNotice::kReleased:
      return on_released(from, id, notice);
    case SubgroupNotice::kCollision:
      return on_collision_at(id, notice);
    default:
      return on_move(from, id, notice);
  }
}

void on_subgroup_collision(Membership* membership) {
  for (auto& [ctx, list] : kept()) {
    auto which = find(&list, membership->group.id());
    if (which == list.end() || which->membership != membership) continue;
    SubgroupNotice notice;
    notice.kind = SubgroupNotice::kCollision;
    notice.id = which->ticket.id;
    notice.moves = which->ticket.moves;
    pt2pt::notify(which->root, pt2pt::kNoticeMulticast, ctx, &notice, sizeof notice);
    return;
  }
  service().refuse_to_join(membership);
}

std::vector<uint32_t> takers(const std::vector<uint64_t>& sizes, uint32_t root) {
  std::vector<uint32_t> out;
  for (uint32_t p = 0; p < sizes.size(); ++p)
    if (sizes[p] || p == root) out.push_back(p);
  return out;
}

Status recv_apart(const Multicast& multicast, uint32_t root, const std::vector<uint64_t>& sizes,
                  const SubgroupTicket& ticket, char* out, size_t bytes) {
  const MulticastCaller& caller = multicast.caller();
  const std::vector<uint32_t> members = takers(sizes, root);
  Membership* subgroup = enter_subgroup(caller, root, members, ticket);
  if (!subgroup)
    return error(MPI_ERR_INTERN, "a multicast group of %s cannot be entered",
                 count_words(members.size(), "process").c_str());
  Status status = Multicast(multicast, subgroup, members).recv(root, out, bytes, 1);
  leave_subgroup(caller, ticket, subgroup);
  return status;
}

void leave_subgroup(const MulticastCaller& caller, const SubgroupTicket& ticket,
                    Membership* membership) {
  if (ticket.how == SubgroupTicket::kOnce) return service().leave(membership);
  std::vector<CachedSubgroup>* list = cached_subgroups_of(caller);
  if (!list) return;
  auto which = find(list, ticket.id);
  if (which == list->end()) return;
  --which->uses;
  if (which->is_over()) give_back(list, which);
}

void forget_subgroups(comm::ContextId id) {
  if (kept().empty()) return;
  auto it = kept().find(id.bits);
  if (it == kept().end()) return;
  for (CachedSubgroup& k : it->second)
    if (k.membership) service().leave(k.membership);
  kept().erase(it);
}

}  // namespace fgmpi::multicast
