// Reduce and allreduce: the members' vectors are folded in a tree over ranks, then the processes'
// results. Where ranks of a process are not consecutive and the operation does not commute, runs of
// consecutive ranks are folded and every process combines all runs in rank order.
#include <algorithm>

#include "coll/act.h"
#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

/// Who of this process receives the result.
std::vector<const Args*> receivers(const Act& act) {
  std::vector<const Args*> out;
  if (act.first()->what == What::kAllreduce)
    out.assign(act.members.begin(), act.members.end());
  else if (const Args* root = act.member(act.first()->root))
    out.push_back(root);
  return out;
}

/// One process: each piece of the vector is folded and handed out while it is in the cache.
Status alone(const Act& act, const Reduction& r) {
  std::vector<const char*> sources = contributions(act);
  std::vector<const Args*> to = receivers(act);
  Fold fold(r);
  Operand result(*r.type, fold.piece());
  bool streamed = exceeds_caches(r.bytes() * to.size());
  for (int64_t first = 0; first < r.count; first += fold.piece()) {
    int64_t n = std::min(fold.piece(), r.count - first);
    FGMPI_TRY(fold.fold(sources, first, n, result.at()));
    for (const Args* m : to) {
      char* place = m->recv.address + first * r.type->extent();
      if (r.type->basic())
        copy_bytes(result.at(), place, static_cast<size_t>(n * r.type->size()), streamed);
      else
        FGMPI_TRY(copy_elements(r, result.at(), place, n));
    }
  }
  return {};
}

Status in_rank_order_of_runs(const Act& act, const Team& team, const Reduction& r) {
  std::vector<const Args*> to = receivers(act);
  RunFolds folds(act, team, r);
  return folds.for_each(
      [&](int64_t first, int64_t n, std::span<const char* const> values) -> Status {
        Reduction part{r.type, n, r.op, r.commutative};
        Operand result(*r.type, n);
        FGMPI_TRY(fold_all(part, values, result.at()));
        for (const Args* m : to)
          FGMPI_TRY(copy_elements(r, result.at(), m->recv.address + first * r.type->extent(), n));
        return {};
      });
}

Status hand_out(const Reduction& r, const char* from, const std::vector<const Args*>& to) {
  if (r.type->basic()) {
    std::vector<char*> addresses;
    for (const Args* m : to) addresses.push_back(m->recv.address);
    copy_to_many(from, r.bytes(), addresses.data(), addresses.size());
    return {};
  }
  for (const Args* m : to)
    if (m->recv.address != from) FGMPI_TRY(copy_elements(r, from, m->recv.address, r.count));
  return {};
}

}  // namespace

Status act_reduce(Act& act) {
  FGMPI_TRY(act.same_root());
  const Args* first = act.first();
  for (const Args* m : act.members)
    if (m->send.whole().bytes() != first->send.whole().bytes())
      return truncated(m->send.whole().bytes(), first->send.whole().bytes());
  Reduction r{&first->send.type, first->send.count, first->op, host::is_commutative(first->op)};
  if (r.count == 0) return {};
  Team team = act.team();
  if (team.count() == 1) return alone(act, r);
  if (!r.commutative && !comm::hierarchy(act.shared).one_run_each)
    return in_rank_order_of_runs(act, team, r);

  std::vector<const Args*> to = receivers(act);
  // The result may be built in a receiver's buffer unless that is also a contribution.
  bool direct = !to.empty() && !to.front()->in_place;
  Operand memory;
  if (!direct) memory = Operand(*r.type, r.count);
  char* partial = direct ? to.front()->recv.address : memory.at();
  FGMPI_TRY(fold_all(r, contributions(act), partial));
  if (first->what == What::kAllreduce)
    FGMPI_TRY(team_allreduce(team, r, partial));
  else
    FGMPI_TRY(team_reduce(team, team.place_of_rank(first->root), r, partial));
  return hand_out(r, partial, to);
}

}  // namespace fgmpi::coll
