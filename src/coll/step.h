// CollectiveStep: the work that the member that arrives last does for all collocated members of a
// collective. One file a family (step_*.cc). A step packs the members' data for level two where
// need be, runs an algorithm among the processes, and copies the results to the members.
//
// Thread rule: one thread; steps may switch. The Status that a step returns is given to all members
// of the process.
#pragma once

#include "coll/args.h"
#include "coll/fold.h"
#include "coll/move.h"
#include "coll/team.h"

namespace fgmpi::coll {

struct CollectiveStep {
  SharedComm* shared;
  comm::Meeting* meeting;
  std::vector<Args*> members;  ///< in rank order; at least one

  Args* first() const { return members.front(); }
  const char* call() const { return meeting->call; }
  /// The member that runs the step. A reduction uses its operation and type: a user's function gets
  /// that rank's handle of the type, and runs with that rank's variables in place, thread_local
  /// ones too.
  const Args* runner() const { return static_cast<const Args*>(meeting->last); }
  /// The team of this collective. `agreed`: what all processes must give alike (team.h).
  Team team(uint64_t agreed, Team::Reach reach = Team::kAll) const {
    return Team(shared, meeting, agreed, reach);
  }
  /// The member with this rank, or nullptr when it is in another process.
  Args* member(int rank) const;
  /// Returns an error when members of this process do not name the same root.
  Status same_root() const;
  /// Returns an error when bytes(member) differ among the members of this process.
  template <class F>
  Status same_bytes(F&& bytes) const {
    const int64_t expected = bytes(first());
    for (const Args* m : members)
      if (__builtin_expect(bytes(m) != expected, 0))
        return different_bytes(first()->rank, expected, m->rank, bytes(m));
    return {};
  }
};

// Steps on intracommunicators.
Status step_barrier(CollectiveStep& step);
Status step_bcast(CollectiveStep& step);
Status step_gather(CollectiveStep& step);          ///< and gatherv; the forms that do not block
Status step_scatter(CollectiveStep& step);         ///< and scatterv; the forms that do not block
Status step_allgather(CollectiveStep& step);       ///< and allgatherv
Status step_alltoall(CollectiveStep& step);        ///< and v, w
Status step_reduce(CollectiveStep& step);          ///< and allreduce
Status step_reduce_scatter(CollectiveStep& step);  ///< and block
Status step_scan(CollectiveStep& step);            ///< and exscan
Status step_neighbor(CollectiveStep& step);        ///< all five
/// The step of every collective on intercommunicators.
Status step_inter(CollectiveStep& step);

/// Exchanges with other processes what members of the v and w forms of all-to-all send, and long
/// parts of the regular form. May switch.
Status alltoallv_between_processes(const CollectiveStep& step, const Team& team,
                                   const Placement& placement);

/// The step of a collective, in the form of a meeting's action.
comm::MeetingAction step_function(CollectiveKind kind, bool inter);

/// Offsets of the ranks' parts in a packed buffer in rank order, by the counts of one
/// member's side.
class Parts {
 public:
  Parts(const CollectiveBuffer& side, int32_t ranks);
  size_t offset(int32_t rank) const {
    return prefix_.empty() ? static_cast<size_t>(rank) * each_ : prefix_[static_cast<size_t>(rank)];
  }
  size_t size(int32_t rank) const { return offset(rank + 1) - offset(rank); }
  size_t total() const { return offset(ranks_); }

 private:
  size_t each_ = 0;
  int32_t ranks_;
  std::vector<size_t> prefix_;
};

/// Folds of runs of consecutive ranks, for reductions that must keep rank order where a process
/// hosts several runs. Every process gets every run's fold, a range of elements at a time, and
/// calls f(first, n, values) with values[i] the n elements of run i (in rank order). May switch.
class RunFolds {
 public:
  RunFolds(const CollectiveStep& step, const Team& team, const Reduction& r);
  template <class F>
  Status for_each(F&& f) {
    int64_t first = 0;
    do {  // once for an empty vector too: other processes may have a longer one by mistake
      int64_t n = std::min(range_, r_.count - first);
      FGMPI_TRY(exchange(first, n));
      FGMPI_TRY(f(first, n, std::span<const char* const>(values_)));
      first += range_;
    } while (first < r_.count);
    return {};
  }
  const std::vector<comm::ProcessRun>& runs() const { return runs_; }

 private:
  Status exchange(int64_t first, int64_t n);
  const CollectiveStep& step_;
  const Team& team_;
  const Reduction& r_;
  std::vector<comm::ProcessRun> runs_;
  Placement placement_;
  int64_t range_;
  std::vector<Operand> operands_;
  std::vector<const char*> values_;
};

/// Addresses of the members' contributions to a reduction.
std::vector<const char*> contributions(const CollectiveStep& step);

}  // namespace fgmpi::coll
