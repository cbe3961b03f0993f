// Scan and exscan: prefixes over the members of a run of consecutive ranks. They start from the
// fold of all ranks before the run, which the processes compute together.
#include <algorithm>
#include <utility>

#include "coll/selector.h"
#include "coll/step.h"

namespace fgmpi::coll {
namespace {

/// Computes prefixes over consecutive members for elements first .. first+n-1. `before`: the fold
/// of the ranks before them, elements from `first` on, or nullptr at rank 0.
class Prefixes {
 public:
  Prefixes(const Reduction& r, int64_t most)
      : r_(r), fold_(r), one_(*r.type, most), two_(*r.type, most) {}

  Status run(std::span<Args* const> members, int64_t first, int64_t n, const char* before) {
    bool exclusive = members.front()->kind == CollectiveKind::kExscan;
    int64_t offset = first * r_.type->extent();
    return exclusive ? exclusive_sums(members, offset, n, before)
                     : inclusive_sums(members, offset, n, before);
  }

 private:
  Status inclusive_sums(std::span<Args* const> members, int64_t offset, int64_t n,
                        const char* sum) {
    for (const Args* m : members) {
      char* result = m->recv.address + offset;
      FGMPI_TRY(add(sum, m->send.address + offset, n, result));
      sum = result;
    }
    return {};
  }

  /// A sum is built in the next member's result, unless that memory still holds that
  /// member's contribution.
  Status exclusive_sums(std::span<Args* const> members, int64_t offset, int64_t n,
                        const char* sum) {
    for (size_t i = 0; i < members.size(); ++i) {
      const char* next = sum;
      if (i + 1 < members.size()) {
        char* spare = sum == one_.at() ? two_.at() : one_.at();
        const Args* follower = members[i + 1];
        char* target = follower->in_place ? spare : follower->recv.address + offset;
        FGMPI_TRY(add(sum, members[i]->send.address + offset, n, target));
        next = target;
      }
      char* result = members[i]->recv.address + offset;
      if (sum && sum != result) FGMPI_TRY(copy_elements(r_, sum, result, n));
      sum = next;
    }
    return {};
  }

  /// Sets out = sum op mine, or out = mine where there is no sum; `out` may be `mine`.
  Status add(const char* sum, const char* mine, int64_t n, char* out) {
    if (sum) return fold_.join(sum, mine, n, out);
    return out == mine ? Status() : copy_elements(r_, mine, out, n);
  }

  const Reduction& r_;
  Fold fold_;
  Operand one_, two_;
};

Status scan_of_one_run(const CollectiveStep& step, const Team& team, const Reduction& r) {
  Operand before;
  if (team.count() > 1) {
    Operand folded(*r.type, r.count);
    before = Operand(*r.type, r.count);
    FGMPI_TRY(fold_all(r, contributions(step), folded.at()));
    FGMPI_TRY(team_scan(team, r, folded.at(), before.at()));
  }
  int64_t piece = Fold(r).piece();
  Prefixes prefixes(r, piece);
  for (int64_t first = 0; first < r.count; first += piece) {
    const char* start = team.me() > 0 ? before.at() + first * r.type->extent() : nullptr;
    FGMPI_TRY(prefixes.run(step.members, first, std::min(piece, r.count - first), start));
  }
  return {};
}

Status scan_of_runs(const CollectiveStep& step, const Team& team, const Reduction& r) {
  RunFolds folds(step, team, r);
  std::span<Args* const> members(step.members);
  return folds.for_each([&](int64_t first, int64_t n,
                            std::span<const char* const> values) -> Status {
    Prefixes prefixes(r, n);
    Operand one(*r.type, n), two(*r.type, n);
    char *sum = one.at(), *next = two.at();
    size_t member = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const comm::ProcessRun& run = folds.runs()[i];
      if (member < members.size() && members[member]->rank == run.first) {
        size_t count = static_cast<size_t>(run.count);
        FGMPI_TRY(prefixes.run(members.subspan(member, count), first, n, i > 0 ? sum : nullptr));
        member += count;
      }
      FGMPI_TRY(copy_elements(r, values[i], next, n));
      if (i > 0) FGMPI_TRY(datatype::reduce_local(sum, next, n, *r.type, r.op));
      std::swap(sum, next);
    }
    return {};
  });
}

}  // namespace

Status step_scan(CollectiveStep& step) {
  const Args* first = step.first();
  const Args* runner = step.runner();
  Reduction r{&runner->send.type, first->send.count, runner->op,
              datatype::is_commutative(runner->op)};
  FGMPI_TRY(step.same_bytes([](const Args* m) { return m->send.whole().bytes(); }));
  Team team = step.team(r.bytes());
  if (team.count() == 1 || comm::hierarchy(step.shared).one_run_each)
    return scan_of_one_run(step, team, r);
  return scan_of_runs(step, team, r);
}

}  // namespace fgmpi::coll
