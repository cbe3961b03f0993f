// Reduce_scatter and reduce_scatter_block: the members' whole vectors are folded. The processes
// exchange results so that each has those of its members, and copies them to the members.
#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// The number of elements before each rank's block.
std::vector<int64_t> block_starts(const CollectiveBuffer& recv, int32_t ranks) {
  std::vector<int64_t> start(static_cast<size_t>(ranks) + 1);
  for (int32_t i = 0; i < ranks; ++i)
    start[static_cast<size_t>(i) + 1] = start[static_cast<size_t>(i)] + recv.segment(i).count;
  return start;
}

/// Copies each member's result from `result`, where element `at(rank)` is the first of rank's.
template <class At>
Status hand_out(const CollectiveStep& step, const Reduction& r, const char* result,
                const std::vector<int64_t>& start, At&& at) {
  for (const Args* m : step.members) {
    size_t rank = static_cast<size_t>(m->rank);
    FGMPI_TRY(copy_elements(r, result + at(m->rank) * r.type->extent(), m->recv.address,
                            start[rank + 1] - start[rank]));
  }
  return {};
}

/// Level two on dense vectors. The blocks of a process must be contiguous, which needs a copy where
/// its ranks are not consecutive.
Status scatter_dense(const CollectiveStep& step, const Team& team, const Reduction& r, char* folded,
                     const std::vector<int64_t>& start) {
  Placement placement(step.shared, team);
  int64_t size = r.type->size();
  std::vector<int64_t> moved;  // start of each rank's block in the order of processes
  Memory memory;
  char* data = folded;
  if (!placement.in_rank_order()) {
    moved.resize(start.size());
    memory = raw_memory(r.bytes());
    data = memory.get();
  }
  ProcessBlocks blocks;
  blocks.offset.push_back(0);
  int64_t next = 0;
  for (uint32_t p = 0; p < team.count(); ++p) {
    placement.for_each(p, [&](int32_t rank) {
      size_t i = static_cast<size_t>(rank);
      int64_t n = start[i + 1] - start[i];
      if (memory) {
        moved[i] = next;
        if (n)
          std::memcpy(data + next * size, folded + start[i] * size, static_cast<size_t>(n * size));
      }
      next += n;
    });
    blocks.offset.push_back(static_cast<size_t>(next * size));
  }
  FGMPI_TRY(team_reduce_scatter(team, r, data, blocks));
  return hand_out(step, r, data, start, [&](int32_t rank) {
    return (memory ? moved : start)[static_cast<size_t>(rank)];
  });
}

}  // namespace

Status step_reduce_scatter(CollectiveStep& step) {
  const Args* first = step.first();
  FGMPI_TRY(step.same_bytes([](const Args* m) { return m->send.whole().bytes(); }));
  std::vector<int64_t> start = block_starts(first->recv, step.shared->size);
  const Args* runner = step.runner();
  Reduction r{&runner->recv.type, start.back(), runner->op, datatype::is_commutative(runner->op)};
  for (const Args* m : step.members)
    if (int64_t mine = r.type->size() * (start[static_cast<size_t>(m->rank) + 1] -
                                         start[static_cast<size_t>(m->rank)]);
        mine != m->recv.whole().bytes())
      return truncated(mine, m->recv.whole().bytes());
  auto in_order = [&](int32_t rank) { return start[static_cast<size_t>(rank)]; };
  Team team = step.team(r.bytes());
  team.set_type(r.type, r.count);
  Operand folded(*r.type, r.count);
  if (team.count() > 1 && !r.commutative && !comm::hierarchy(step.shared).one_run_each) {
    RunFolds folds(step, team, r);
    FGMPI_TRY(folds.for_each([&](int64_t from, int64_t n, std::span<const char* const> values) {
      return fold_all({r.type, n, r.op, false}, values, folded.at() + from * r.type->extent());
    }));
    return hand_out(step, r, folded.at(), start, in_order);
  }
  FGMPI_TRY(fold_all(r, contributions(step), folded.at()));
  // The algorithms of dense vectors divide by the type's size, which may be 0.
  if (team.count() > 1 && r.bytes() > 0 && r.dense())
    return scatter_dense(step, team, r, folded.at(), start);
  FGMPI_TRY(team_allreduce(team, r, folded.at()));
  return hand_out(step, r, folded.at(), start, in_order);
}

}  // namespace fgmpi::coll
