// All-to-all between processes where not all of them know all sizes (the v and w forms), or where
// parts are long. Each pair has a stream of its members' parts, ordered by receiver, then sender.
#include "base/settings.h"
#include "coll/selector.h"
#include "coll/step.h"
#include "coll/streams.h"

namespace fgmpi::coll {
namespace {

/// The parts that this process's members send to the ranks at a process, or get from them.
class PartsOfProcess {
 public:
  enum Direction { kOut, kIn };
  PartsOfProcess(const CollectiveStep& step, const Placement& placement, uint32_t team_rank,
                 Direction direction)
      : members_(&step.members), direction_(direction) {
    placement.for_each(team_rank, [&](int32_t rank) { ranks_.push_back(rank); });
  }
  size_t size() const { return ranks_.size() * members_->size(); }
  Segment operator[](size_t k) const {
    const std::vector<Args*>& members = *members_;
    if (direction_ == kOut)
      return members[k % members.size()]->send.segment(ranks_[k / members.size()]);
    return members[k / ranks_.size()]->recv.segment(ranks_[k % ranks_.size()]);
  }

 private:
  const std::vector<Args*>* members_;
  Direction direction_;
  std::vector<int32_t> ranks_;
};

}  // namespace

size_t round_bytes() { return settings::size(settings::kCollRound); }

Status alltoallv_between_processes(const CollectiveStep& step, const Team& team,
                                   const Placement& placement) {
  std::vector<Stream<PartsOfProcess>> out, in;
  for (uint32_t p = 0; p < team.count(); ++p) {
    out.emplace_back(PartsOfProcess(step, placement, p, PartsOfProcess::kOut));
    in.emplace_back(PartsOfProcess(step, placement, p, PartsOfProcess::kIn));
  }
  bool opened = false;
  for (const Args* m : step.members) opened |= m->send.opened || m->recv.opened;
  return StreamExchange(team, std::move(out), std::move(in))
      .run([&](const ProcessBlocks& sizes_out, const char* outgoing, const ProcessBlocks& sizes_in,
               char* incoming) {
        return team_alltoall(team, outgoing, incoming, {&sizes_out, &sizes_in, {}, 0, opened},
                             SIZE_MAX, false);
      });
}

}  // namespace fgmpi::coll
