// Reduce and allreduce: the members' vectors are folded in a tree over ranks, then the processes'
// results. Where ranks of a process are not consecutive and the operation does not commute, each
// run of consecutive ranks is folded, and every process combines all runs in rank order.
#include <algorithm>

#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// The members of this process that receive the result.
std::vector<const Args*> receivers(const CollectiveStep& step) {
  std::vector<const Args*> out;
  if (step.first()->kind == CollectiveKind::kAllreduce)
    out.assign(step.members.begin(), step.members.end());
  else if (const Args* root = step.member(step.first()->root))
    out.push_back(root);
  return out;
}

/// Reduces where one process hosts all members: each piece of the vector is folded and copied to
/// the receivers while it is in the cache.
Status alone(const CollectiveStep& step, const Reduction& r) {
  std::vector<const char*> sources = contributions(step);
  std::vector<const Args*> to = receivers(step);
  Fold fold(r);
  Operand result(*r.type, fold.piece());
  bool streamed = exceeds_caches(r.bytes() * to.size());
  for (int64_t first = 0; first < r.count; first += fold.piece()) {
    int64_t n = std::min(fold.piece(), r.count - first);
    FGMPI_TRY(fold.fold(sources, first, n, result.at()));
    for (const Args* m : to) {
      char* target = m->recv.address + first * r.type->extent();
      if (r.type->basic())
        copy_bytes(result.at(), target, static_cast<size_t>(n * r.type->size()), streamed);
      else
        FGMPI_TRY(copy_elements(r, result.at(), target, n));
    }
  }
  return {};
}

Status in_rank_order_of_runs(const CollectiveStep& step, const Team& team, const Reduction& r) {
  std::vector<const Args*> to = receivers(step);
  RunFolds folds(step, team, r);
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

/// Allreduce of long vectors of two processes, segment by segment. While one segment travels, the
/// next is folded and the one before is copied to the receivers, so that reading the contributions,
/// writing the results and the exchange overlap. Each process combines whole segments, left with
/// right in the order of processes.
class Pipeline {
 public:
  static bool suits(const CollectiveStep& step, const Team& team, const Reduction& r) {
    return step.first()->kind == CollectiveKind::kAllreduce && team.count() == 2 && r.divisible() &&
           r.type->basic() && r.bytes() >= kLong && !allreduce_is_set();
  }
  Pipeline(const CollectiveStep& step, const Team& team, const Reduction& r)
      : team_(team), r_(r), fold_(r), sources_(contributions(step)), to_(receivers(step)) {
    segment_ = static_cast<int64_t>(kSegmentBytes) / r.type->size();
    for (SegmentSlot& slot : slots_) {
      slot.mine = raw_memory(static_cast<size_t>(segment_ * r.type->size()));
      slot.theirs = raw_memory(static_cast<size_t>(segment_ * r.type->size()));
    }
    streamed_ = exceeds_caches(r.bytes() * to_.size());
  }

  Status run() {
    int64_t segments = (r_.count + segment_ - 1) / segment_;
    Status status = begin(0);
    for (int64_t s = 0; s < segments && status.ok(); ++s) {
      if (s + 1 < segments) status = begin(s + 1);
      if (status.ok()) status = end(s);
    }
    for (SegmentSlot& slot : slots_) {
      Status left = finish(slot);
      if (status.ok()) status = std::move(left);
    }
    return status;
  }

 private:
  static constexpr size_t kSegmentBytes = 64 * 1024;
  static constexpr size_t kLong = 256 * 1024;
  struct SegmentSlot {
    Memory mine, theirs;
    std::vector<pt2pt::Request*> sent, received;
  };

  SegmentSlot& slot(int64_t segment) { return slots_[segment % 2]; }
  int64_t first(int64_t segment) const { return segment * segment_; }
  int64_t length(int64_t segment) const { return std::min(segment_, r_.count - first(segment)); }

  Status finish(SegmentSlot& s) {
    Status status = team_.finish(&s.received, {});
    return team_.finish(&s.sent, std::move(status));
  }

  /// Folds a segment and sends it.
  Status begin(int64_t segment) {
    SegmentSlot& s = slot(segment);
    FGMPI_TRY(finish(s));
    int64_t size = r_.type->size(), n = length(segment);
    for (int64_t at = 0; at < n; at += fold_.piece())
      FGMPI_TRY(fold_.fold(sources_, first(segment) + at, std::min(fold_.piece(), n - at),
                           s.mine.get() + at * size));
    uint32_t other = 1 - team_.me();
    size_t bytes = static_cast<size_t>(n * size);
    FGMPI_TRY(team_.irecv_pieces(other, s.theirs.get(), bytes, &s.received));
    return team_.isend_pieces(other, s.mine.get(), bytes, &s.sent);
  }

  /// Combines a segment with the other process's, and copies it to the receivers.
  Status end(int64_t segment) {
    SegmentSlot& s = slot(segment);
    FGMPI_TRY(team_.finish(&s.received, {}));
    int64_t n = length(segment);
    const char* left = (team_.me() == 0 ? s.mine : s.theirs).get();
    const char* right = (team_.me() == 0 ? s.theirs : s.mine).get();
    Operand result(*r_.type, segment_);
    FGMPI_TRY(fold_.join(left, right, n, result.at()));
    for (const Args* m : to_)
      copy_bytes(result.at(), m->recv.address + first(segment) * r_.type->size(),
                 static_cast<size_t>(n * r_.type->size()), streamed_);
    return {};
  }

  const Team& team_;
  const Reduction& r_;
  Fold fold_;
  std::vector<const char*> sources_;
  std::vector<const Args*> to_;
  int64_t segment_;
  SegmentSlot slots_[2];
  bool streamed_;
};

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

Status step_reduce(CollectiveStep& step) {
  FGMPI_TRY(step.same_root());
  const Args* first = step.first();
  FGMPI_TRY(step.same_bytes([](const Args* m) { return m->send.whole().bytes(); }));
  const Args* runner = step.runner();
  Reduction r{&runner->send.type, first->send.count, runner->op,
              datatype::is_commutative(runner->op)};
  if (step.shared->processes == 1) return alone(step, r);
  Team team = step.team(r.bytes(), r.commutative ? Team::kTree : Team::kAll);
  team.set_type(r.type, r.count);
  if (!r.commutative && !comm::hierarchy(step.shared).one_run_each)
    return in_rank_order_of_runs(step, team, r);
  if (team.tree_size() == 0 && Pipeline::suits(step, team, r)) return Pipeline(step, team, r).run();

  std::vector<const Args*> to = receivers(step);
  // The result may be built in a receiver's buffer, unless that buffer is also a contribution.
  bool direct = !to.empty() && !to.front()->in_place;
  Operand memory;
  if (!direct) memory = Operand(*r.type, r.count);
  char* partial = direct ? to.front()->recv.address : memory.at();
  FGMPI_TRY(fold_all(r, contributions(step), partial));
  if (first->kind == CollectiveKind::kAllreduce)
    FGMPI_TRY(team_allreduce(team, r, partial));
  else
    FGMPI_TRY(team_reduce(team, team.team_rank_of(first->root), r, partial));
  return hand_out(r, partial, to);
}

}  // namespace fgmpi::coll
