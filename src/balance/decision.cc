// Which rank goes where.
#include "balance/decision.h"

#include <algorithm>

namespace fgmpi::balance {
namespace {

bool has_rested(const RankAtCall& rank) {
  return !rank.has_moved || rank.computed_here >= std::max(kCostsBetweenMoves * kMoveCost,
                                                           kWindowsBetweenMoves * rank.share);
}

/// What the rank adds to the load of its process in one window. A new one has run once.
int64_t load_of(const RankAtCall& rank) { return std::max(rank.burst, rank.share); }

bool can_move(const RankAtCall& rank) { return rank.burst >= kMoveCost && has_rested(rank); }

/// Does a rank with this share of a load even it out with that of another process?
bool evens_loads(int64_t share, int64_t load, int64_t load_there) {
  return load - load_there >= 2 * share + load / kLastingPart;
}

}  // namespace

Grant grant_move(const RankAtCall& rank, std::span<const OtherProcess> asking) {
  if (!can_move(rank)) return {};
  const OtherProcess* best = nullptr;
  for (const OtherProcess& other : asking)
    if (!best || other.load < best->load) best = &other;
  if (!best) return {};
  const int64_t left = std::max<int64_t>(-best->idle_for, 0), load = best->load + left;
  const int64_t more = rank.load + rank.backlog - load;
  if (rank.backlog - left < 2 * kMoveCost ||
      more < std::max(rank.burst, 2 * rank.share) + load / kLastingPart)
    return {};
  if (rank.backlog < kWindow &&
      !evens_loads(rank.lasting_share, rank.lasting_load, best->lasting_load))
    return {};
  const auto sharing = static_cast<int64_t>(asking.size()) + 1;
  return {best->process, std::max((rank.backlog + rank.burst - left) / sharing, rank.burst),
          std::max((more + rank.burst) / 2, load_of(rank))};
}

void Grant::take(const RankAtCall& rank) {
  ns -= rank.burst;
  load -= load_of(rank);
}

bool fits(const RankAtCall& rank, const Grant& grant) {
  return can_move(rank) && rank.backlog >= kMoveCost && rank.burst <= grant.ns &&
         load_of(rank) <= grant.load;
}

bool is_among_first(const Grant& grant, int64_t rather) { return rather < grant.ns; }

bool evens_out(const RankAtCall& rank, int64_t load_there) {
  return can_move(rank) && rank.share > 0 && evens_loads(rank.share, rank.load, load_there);
}

bool goes_home(const RankAtCall& rank, int64_t load_at_home) {
  return rank.has_moved && has_rested(rank) &&
         load_at_home + rank.share <= rank.load - rank.share + load_at_home / kEqualPart;
}

}  // namespace fgmpi::balance
