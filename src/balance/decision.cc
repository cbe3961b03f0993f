// Which rank goes where.
#include "balance/decision.h"

#include <algorithm>

namespace fgmpi::balance {
namespace {

/// A lasting difference is one of at least this part of the load.
constexpr int64_t kLastingPart = 32;

bool has_rested(const RankAtCall& rank) {
  return !rank.has_moved || rank.computed_here >= kCostsBetweenMoves * kMoveCost;
}

bool can_move(const RankAtCall& rank) { return rank.burst >= kMoveCost && has_rested(rank); }

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
      more < std::max(rank.burst, 2 * rank.share) + load / kEqualPart)
    return {};
  const auto sharing = static_cast<int64_t>(asking.size()) + 1;
  const int64_t granted =
      std::min((rank.backlog + rank.burst - left) / sharing, (more + rank.burst) / 2);
  return {best->process, std::max(granted, rank.burst)};
}

bool fits(const RankAtCall& rank, const Grant& grant) {
  return can_move(rank) && rank.backlog >= kMoveCost &&
         std::max(rank.burst, rank.share) <= grant.ns;
}

bool is_among_first(const Grant& grant, int64_t rather) { return rather < grant.ns; }

bool evens_out(const RankAtCall& rank, int64_t load_there) {
  return can_move(rank) && rank.share > 0 &&
         rank.load - load_there >= 2 * rank.share + rank.load / kLastingPart;
}

bool goes_home(const RankAtCall& rank, int64_t load_at_home) {
  return rank.has_moved && has_rested(rank) &&
         load_at_home + rank.share <= rank.load - rank.share + load_at_home / kEqualPart;
}

}  // namespace fgmpi::balance
