// Allgather and allgatherv: the members' parts are packed once, in rank order, into one buffer (the
// first member's own where its layout allows). The processes exchange this buffer, and it is copied
// to every member.
#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

Segment part_of(const Args* m) { return m->in_place ? m->recv.segment(m->rank) : m->send.whole(); }

/// Packs each member's part to at(rank).
template <class At>
Status pack_members(const CollectiveStep& step, const Parts& parts, At&& at) {
  for (const Args* m : step.members) {
    Segment part = part_of(m);
    if (part.bytes() != static_cast<int64_t>(parts.size(m->rank)))
      return truncated(part.bytes(), static_cast<int64_t>(parts.size(m->rank)));
    char* to = at(m->rank);
    if (to != part.address) FGMPI_TRY(pack(part, to));
  }
  return {};
}

/// Exchanges through a buffer in the order of processes, where ranks are not in that order.
Status exchange_by_processes(const CollectiveStep& step, const Team& team,
                             const Placement& placement, const Parts& parts, char* all) {
  ProcessBlocks blocks;
  blocks.offset.push_back(0);
  for (uint32_t p = 0; p < team.count(); ++p) {
    size_t size = 0;
    placement.for_each(p, [&](int32_t rank) { size += parts.size(rank); });
    blocks.offset.push_back(blocks.offset.back() + size);
  }
  auto buffer = raw_memory(blocks.total());
  char* mine = buffer.get() + blocks.offset[team.me()];
  FGMPI_TRY(pack_members(step, parts, [&](int32_t rank) {
    char* to = mine;
    mine += parts.size(rank);
    return to;
  }));
  FGMPI_TRY(team_allgather(team, buffer.get(), blocks));
  for (uint32_t p = 0; p < team.count(); ++p) {
    const char* from = buffer.get() + blocks.offset[p];
    placement.for_each(p, [&](int32_t rank) {
      if (parts.size(rank)) std::memcpy(all + parts.offset(rank), from, parts.size(rank));
      from += parts.size(rank);
    });
  }
  return {};
}

Status exchange(const CollectiveStep& step, const Team& team, const Parts& parts, char* all) {
  auto in_order = [&](int32_t rank) { return all + parts.offset(rank); };
  if (team.count() == 1) return pack_members(step, parts, in_order);
  Placement placement(step.shared, team);
  if (!placement.in_rank_order()) return exchange_by_processes(step, team, placement, parts, all);
  FGMPI_TRY(pack_members(step, parts, in_order));
  ProcessBlocks blocks;
  for (uint32_t p = 0; p < team.count(); ++p)
    blocks.offset.push_back(parts.offset(placement.begin(p)->first));
  blocks.offset.push_back(parts.total());
  return team_allgather(team, all, blocks);
}

}  // namespace

Status step_allgather(CollectiveStep& step) {
  Args* first = step.first();
  int32_t ranks = step.shared->size;
  Parts parts(first->recv, ranks);
  Team team = step.team(parts.total());
  team.set_type(&first->recv.type, first->recv.counts ? -1 : first->recv.count);
  auto packed_layout = [](const CollectiveBuffer& side) {
    return !side.counts && side.type.basic();
  };
  bool direct = packed_layout(first->recv);
  auto memory = direct ? nullptr : raw_memory(parts.total());
  char* all = direct ? first->recv.address : memory.get();
  FGMPI_TRY(exchange(step, team, parts, all));
  std::vector<char*> to;
  for (const Args* m : step.members) {
    if (packed_layout(m->recv)) {
      if (static_cast<int64_t>(parts.total()) != m->recv.whole().bytes() * ranks)
        return truncated(static_cast<int64_t>(parts.total()), m->recv.whole().bytes() * ranks);
      to.push_back(m->recv.address);
      continue;
    }
    for (int32_t r = 0; r < ranks; ++r)
      if (!m->in_place || r != m->rank)
        FGMPI_TRY(
            unpack(all + parts.offset(r), static_cast<int64_t>(parts.size(r)), m->recv.segment(r)));
  }
  copy_to_many(all, parts.total(), to.data(), to.size());
  return {};
}

}  // namespace fgmpi::coll
