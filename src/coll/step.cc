// The work of the member that arrives last: its dispatch by kind, and what all kinds share.

#include "coll/step.h"

#include <algorithm>
#include <new>

#include "coll/selector.h"

namespace fgmpi::coll {
namespace {

template <Status (*body)(CollectiveStep&)>
void run(SharedComm* shared, comm::Meeting* meeting) {
  ++g_counters.collectives;
  CollectiveStep step{shared, meeting, in_rank_order(meeting)};
  Status status;
  try {
    status = body(step);
  } catch (const std::bad_alloc&) {
    status = error(MPI_ERR_NO_MEM, "no memory is left for it at a process of %u of its ranks",
                   shared->members);
  }
  conclude(shared, meeting, &status);
  set_status_of_members(meeting, status);
}

}  // namespace

Args* CollectiveStep::member(int rank) const {
  // Members are mostly consecutive ranks, so the member is first searched where it would be then.
  size_t guess = static_cast<size_t>(rank - members.front()->rank);
  if (rank >= members.front()->rank && guess < members.size() && members[guess]->rank == rank)
    return members[guess];
  auto it = std::lower_bound(members.begin(), members.end(), rank,
                             [](const Args* a, int r) { return a->rank < r; });
  return it != members.end() && (*it)->rank == rank ? *it : nullptr;
}

Status CollectiveStep::same_root() const {
  for (const Args* m : members)
    if (m->root != first()->root)
      return different_roots(first()->rank, first()->root, m->rank, m->root);
  return {};
}

comm::MeetingAction step_function(CollectiveKind kind, bool inter) {
  if (inter) return run<step_inter>;
  switch (kind) {
    case CollectiveKind::kBarrier:
      return run<step_barrier>;
    case CollectiveKind::kBcast:
      return run<step_bcast>;
    case CollectiveKind::kGather:
    case CollectiveKind::kGatherv:
      return run<step_gather>;
    case CollectiveKind::kScatter:
    case CollectiveKind::kScatterv:
      return run<step_scatter>;
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAllgatherv:
      return run<step_allgather>;
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAlltoallv:
    case CollectiveKind::kAlltoallw:
      return run<step_alltoall>;
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllreduce:
      return run<step_reduce>;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduceScatterBlock:
      return run<step_reduce_scatter>;
    case CollectiveKind::kScan:
    case CollectiveKind::kExscan:
      return run<step_scan>;
    default:
      return run<step_neighbor>;
  }
}

Status step_barrier(CollectiveStep& step) { return team_barrier(step.team(0, Team::kTree)); }

Parts::Parts(const CollectiveBuffer& side, int32_t ranks) : ranks_(ranks) {
  if (!side.counts) {
    each_ = static_cast<size_t>(side.whole().bytes());
    return;
  }
  prefix_.resize(static_cast<size_t>(ranks) + 1);
  for (int32_t i = 0; i < ranks; ++i)
    prefix_[static_cast<size_t>(i) + 1] =
        prefix_[static_cast<size_t>(i)] + static_cast<size_t>(side.segment(i).bytes());
}

std::vector<const char*> contributions(const CollectiveStep& step) {
  std::vector<const char*> sources;
  sources.reserve(step.members.size());
  for (const Args* m : step.members) sources.push_back(m->send.address);
  return sources;
}

RunFolds::RunFolds(const CollectiveStep& step, const Team& team, const Reduction& r)
    : step_(step), team_(team), r_(r), placement_(step.shared, team) {
  comm::hierarchy(step.shared).runs_of(step.shared->map, &runs_);
  constexpr int64_t kBytesAtOnce = 4 << 20;
  int64_t one = std::max<int64_t>(1, r.type->size() * static_cast<int64_t>(runs_.size()));
  range_ = std::clamp<int64_t>(kBytesAtOnce / one, 1, std::max<int64_t>(r.count, 1));
  for (size_t i = 0; i < runs_.size(); ++i) {
    operands_.emplace_back(*r.type, range_);
    values_.push_back(operands_.back().at());
  }
}

Status RunFolds::exchange(int64_t first, int64_t n) {
  size_t each = static_cast<size_t>(n * r_.type->size());
  ProcessBlocks blocks;
  blocks.offset.push_back(0);
  for (uint32_t p = 0; p < team_.count(); ++p)
    blocks.offset.push_back(blocks.offset.back() +
                            each * static_cast<size_t>(placement_.end(p) - placement_.begin(p)));
  auto packed = raw_memory(blocks.total());
  Reduction part{r_.type, n, r_.op, r_.commutative};
  Operand folded(*r_.type, n);
  char* at = packed.get() + blocks.offset[team_.me()];
  std::vector<const char*> sources;
  size_t member = 0;
  for (const comm::ProcessRun* run = placement_.begin(team_.me());
       run != placement_.end(team_.me()); ++run, at += each) {
    sources.clear();
    for (int32_t i = 0; i < run->count; ++i)
      sources.push_back(step_.members[member++]->send.address + first * r_.type->extent());
    FGMPI_TRY(fold_all(part, sources, folded.at()));
    FGMPI_TRY(pack({folded.at(), n, r_.type}, at));
  }
  FGMPI_TRY(team_allgather(team_, packed.get(), blocks));
  // Unpacks the runs, which are ordered by process, back into rank order.
  for (uint32_t p = 0; p < team_.count(); ++p) {
    char* from = packed.get() + blocks.offset[p];
    for (const comm::ProcessRun* run = placement_.begin(p); run != placement_.end(p);
         ++run, from += each) {
      auto it =
          std::lower_bound(runs_.begin(), runs_.end(), run->first,
                           [](const comm::ProcessRun& a, int32_t rank) { return a.first < rank; });
      FGMPI_TRY(unpack(from, static_cast<int64_t>(each),
                       {operands_[static_cast<size_t>(it - runs_.begin())].at(), n, r_.type}));
    }
  }
  return {};
}

}  // namespace fgmpi::coll
