#include "coll/multicast_subgroups.h"

#include <algorithm>
#include <unordered_map>

#include "transport/random.h"

namespace fgmpi::coll {
namespace {

using transport::multicast::GroupSpec;
using transport::multicast::Membership;
using transport::multicast::service;

/// One that is kept with a communicator. Its members are those of the team with these ranks.
struct Kept {
  uint64_t id = 0;
  uint32_t root = 0;  ///< its process
  std::vector<uint32_t> members;
  Membership* membership =
      nullptr;  ///< nullptr: this process is in none, it only remembers the root's choice
};

/// By the communicator's context id; the one that was used last comes first.
std::unordered_map<uint64_t, std::vector<Kept>>& kept() {
  static auto& all = *new std::unordered_map<uint64_t, std::vector<Kept>>;
  return all;
}
std::vector<Kept>* kept_of(const Team& team) {
  auto it = kept().find(team.open().ctx & ~uint64_t{0xff});
  return it == kept().end() ? nullptr : &it->second;
}

void give_back(std::vector<Kept>* list, std::vector<Kept>::iterator which) {
  if (which->membership) service().leave(which->membership);
  list->erase(which);
}

Membership* join(const Team& team, const std::vector<uint32_t>& members,
                 const SubgroupTicket& ticket, bool is_root) {
  GroupSpec spec;
  if (!spec_of_subgroup(team, members, &spec)) return nullptr;
  spec.id = ticket.id;
  spec.key = ticket.key;
  spec.address = ticket.address;
  spec.options.eager = 0;  // no data before all have joined
  Membership* membership = nullptr;
  if (ticket.id == 0 || !service().join(spec, &membership).ok()) return nullptr;
  if (is_root) membership->group.expect_joins();
  return membership;
}

}  // namespace

SubgroupTicket announce_subgroup(const Team& team, const std::vector<uint32_t>& members,
                                 bool keep) {
  SubgroupTicket ticket;
  const uint32_t me = team.process(team.me());
  if (keep) {
    std::vector<Kept>& list = kept()[team.open().ctx & ~uint64_t{0xff}];
    auto known = std::find_if(list.begin(), list.end(),
                              [&](const Kept& k) { return k.root == me && k.members == members; });
    if (known != list.end()) {
      std::rotate(list.begin(), known, known + 1);
      ticket.how = SubgroupTicket::kAgain;
      ticket.id = list.front().id;
      return ticket;
    }
    const auto of_mine = [&](const Kept& k) { return k.root == me; };
    if (std::count_if(list.begin(), list.end(), of_mine) >=
        static_cast<ptrdiff_t>(kMostKeptSubgroups)) {
      auto eldest = std::find_if(list.rbegin(), list.rend(), of_mine);
      ticket.dropped = eldest->id;
      give_back(&list, std::next(eldest).base());
    }
  }
  ticket.how = keep ? SubgroupTicket::kFirst : SubgroupTicket::kOnce;
  transport::random_bytes(&ticket.id, sizeof ticket.id);
  ticket.id |= 1;
  transport::random_bytes(&ticket.key, sizeof ticket.key);
  ticket.address = transport::multicast::draw_address(service().own().family);
  return ticket;
}

Membership* enter_subgroup(const Team& team, uint32_t root, const std::vector<uint32_t>& members,
                           const SubgroupTicket& ticket) {
  const bool is_root = team.me() == root;
  if (ticket.how == SubgroupTicket::kAgain) {
    std::vector<Kept>* list = kept_of(team);
    if (!list) return nullptr;
    auto known = std::find_if(list->begin(), list->end(), [&](const Kept& k) {
      return k.id == ticket.id && k.root == team.process(root) && k.members == members;
    });
    return known == list->end() ? nullptr : known->membership;
  }
  if (ticket.how != SubgroupTicket::kOnce && ticket.how != SubgroupTicket::kFirst) return nullptr;
  Membership* membership = join(team, members, ticket, is_root);
  if (membership && ticket.how == SubgroupTicket::kFirst) {
    std::vector<Kept>& list = kept()[team.open().ctx & ~uint64_t{0xff}];
    list.insert(list.begin(), {ticket.id, team.process(root), members, membership});
  }
  return membership;
}

void drop_subgroup(const Team& team, uint32_t root, const SubgroupTicket& ticket) {
  std::vector<Kept>* list = kept_of(team);
  if (!list || ticket.dropped == 0) return;
  auto which = std::find_if(list->begin(), list->end(), [&](const Kept& k) {
    return k.id == ticket.dropped && k.root == team.process(root);
  });
  if (which != list->end()) give_back(list, which);
}

std::vector<uint32_t> takers(const std::vector<uint64_t>& sizes, uint32_t root) {
  std::vector<uint32_t> out;
  for (uint32_t p = 0; p < sizes.size(); ++p)
    if (sizes[p] || p == root) out.push_back(p);
  return out;
}

Status recv_apart(const Team& team, uint32_t root, const std::vector<uint64_t>& sizes,
                  const SubgroupTicket& ticket, size_t bytes, Memory* out) {
  const std::vector<uint32_t> members = takers(sizes, root);
  Membership* subgroup = enter_subgroup(team, root, members, ticket);
  if (!subgroup)
    return error(MPI_ERR_INTERN, "a multicast group of %zu processes cannot be entered",
                 members.size());
  *out = raw_memory(bytes);
  Status status = Multicast(team, subgroup, members).recv(root, out->get(), bytes, 1);
  leave_subgroup(ticket, subgroup);
  return status;
}

void leave_subgroup(const SubgroupTicket& ticket, Membership* membership) {
  if (ticket.how == SubgroupTicket::kOnce) service().leave(membership);
}

void forget_subgroups(comm::ContextId id) {
  if (kept().empty()) return;
  auto it = kept().find(id.bits);
  if (it == kept().end()) return;
  for (Kept& k : it->second)
    if (k.membership) service().leave(k.membership);
  kept().erase(it);
}

}  // namespace fgmpi::coll
