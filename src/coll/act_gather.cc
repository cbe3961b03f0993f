// Gather and gatherv: every process sends its members' parts, in rank order, as one message; those
// of the root's own process are copied straight into the root's buffer.
#include "coll/act.h"
#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

Blocks blocks_of_places(const Team& team, const Placement& placement, const Parts& parts) {
  Blocks blocks;
  blocks.offset.push_back(0);
  for (uint32_t p = 0; p < team.count(); ++p) {
    size_t size = 0;
    for (const comm::Run* run = placement.begin(p); run != placement.end(p); ++run)
      size += parts.offset(run->first + run->count) - parts.offset(run->first);
    blocks.offset.push_back(blocks.offset.back() + size);
  }
  return blocks;
}

/// Sizes as a place knows them that has no counts: all (regular) or its own alone.
Blocks blocks_without_counts(const Team& team, size_t each, bool regular, size_t mine) {
  Blocks blocks;
  blocks.offset.push_back(0);
  for (uint32_t p = 0; p < team.count(); ++p)
    blocks.offset.push_back(blocks.offset.back() + (regular          ? each * team.members(p)
                                                    : p == team.me() ? mine
                                                                     : 0));
  return blocks;
}

/// The root's segments lie in memory as the packed blocks would: in the order of places, without
/// gaps.
bool lies_packed(const Side& side, const Placement& placement) {
  return !side.counts && side.type.basic() && placement.in_rank_order();
}

Status gather_at_root(Act& act, const Team& team, Args* root) {
  for (const Args* m : act.members)
    if (m != root || !m->in_place) FGMPI_TRY(copy(m->send.whole(), root->recv.segment(m->rank)));
  if (team.count() == 1) return {};
  Placement placement(act.shared, team);
  Parts parts(root->recv, act.shared->size);
  Blocks blocks = blocks_of_places(team, placement, parts);
  bool direct = lies_packed(root->recv, placement);
  auto packed = direct ? nullptr : raw_memory(blocks.total());
  char* buffer = direct ? root->recv.address : packed.get();
  RootedFn run;
  bool regular = !root->recv.counts;
  FGMPI_TRY(pick_gather({team.count(), regular ? blocks.total() : 0, true, true, regular}, &run));
  FGMPI_TRY(run(team, team.me(), buffer, blocks));
  if (direct) return {};
  for (uint32_t p = 0; p < team.count(); ++p) {
    if (p == team.me()) continue;
    const char* at = buffer + blocks.offset[p];
    Status status;
    placement.for_each(p, [&](int32_t rank) {
      if (status.ok())
        status = unpack(at, static_cast<int64_t>(parts.size(rank)), root->recv.segment(rank));
      at += parts.size(rank);
    });
    FGMPI_TRY(std::move(status));
  }
  return {};
}

Status gather_elsewhere(Act& act, const Team& team, uint32_t root_place) {
  size_t mine = 0;
  for (const Args* m : act.members) mine += static_cast<size_t>(m->send.whole().bytes());
  auto packed = raw_memory(mine);
  char* at = packed.get();
  for (const Args* m : act.members) {
    FGMPI_TRY(pack(m->send.whole(), at));
    at += m->send.whole().bytes();
  }
  bool regular = act.first()->what == What::kGather;
  size_t each = static_cast<size_t>(act.first()->send.whole().bytes());
  Blocks blocks = blocks_without_counts(team, each, regular, mine);
  RootedFn run;
  FGMPI_TRY(pick_gather({team.count(), regular ? blocks.total() : 0, true, true, regular}, &run));
  return run(team, root_place, packed.get(), blocks);
}

Status scatter_at_root(Act& act, const Team& team, Args* root) {
  if (team.count() > 1) {
    Placement placement(act.shared, team);
    Parts parts(root->send, act.shared->size);
    Blocks blocks = blocks_of_places(team, placement, parts);
    bool direct = lies_packed(root->send, placement);
    auto packed = direct ? nullptr : raw_memory(blocks.total());
    char* buffer = direct ? root->send.address : packed.get();
    for (uint32_t p = 0; p < team.count() && !direct; ++p) {
      if (p == team.me()) continue;
      char* at = buffer + blocks.offset[p];
      Status status;
      placement.for_each(p, [&](int32_t rank) {
        if (status.ok()) status = pack(root->send.segment(rank), at);
        at += parts.size(rank);
      });
      FGMPI_TRY(std::move(status));
    }
    RootedFn run;
    bool regular = !root->send.counts;
    FGMPI_TRY(
        pick_scatter({team.count(), regular ? blocks.total() : 0, true, true, regular}, &run));
    FGMPI_TRY(run(team, team.me(), buffer, blocks));
  }
  for (const Args* m : act.members)
    if (m != root || !m->in_place) FGMPI_TRY(copy(root->send.segment(m->rank), m->recv.whole()));
  return {};
}

Status scatter_elsewhere(Act& act, const Team& team, uint32_t root_place) {
  size_t mine = 0;
  for (const Args* m : act.members) mine += static_cast<size_t>(m->recv.whole().bytes());
  auto packed = raw_memory(mine);
  bool regular = act.first()->what == What::kScatter;
  size_t each = static_cast<size_t>(act.first()->recv.whole().bytes());
  Blocks blocks = blocks_without_counts(team, each, regular, mine);
  RootedFn run;
  FGMPI_TRY(pick_scatter({team.count(), regular ? blocks.total() : 0, true, true, regular}, &run));
  FGMPI_TRY(run(team, root_place, packed.get(), blocks));
  const char* at = packed.get();
  for (const Args* m : act.members) {
    FGMPI_TRY(unpack(at, m->recv.whole().bytes(), m->recv.whole()));
    at += m->recv.whole().bytes();
  }
  return {};
}

}  // namespace

Status act_gather(Act& act) {
  FGMPI_TRY(act.same_root());
  Team team = act.team();
  int rank = act.first()->root;
  if (Args* root = act.member(rank)) return gather_at_root(act, team, root);
  return gather_elsewhere(act, team, team.place_of_rank(rank));
}

Status act_scatter(Act& act) {
  FGMPI_TRY(act.same_root());
  Team team = act.team();
  int rank = act.first()->root;
  if (Args* root = act.member(rank)) return scatter_at_root(act, team, root);
  return scatter_elsewhere(act, team, team.place_of_rank(rank));
}

}  // namespace fgmpi::coll
