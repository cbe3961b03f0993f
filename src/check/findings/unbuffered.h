// Does a program depend on buffering? The steps that check could not make in the job's
// processes are made here, as if no standard send were buffered. Ranks that then wait for one
// another are findings.
//
// A step is a letter of kSteps, then numbers separated by dots, all hexadecimal:
//
//   b.MESSAGE             a send begins
//   p.NUMBER              a receive begins
//   t.MESSAGE             a receive that matches the message begins
//   n.MESSAGE[.CALL]      waits until the receive of the message has begun
//   g.MESSAGE[.CALL]      waits until the send of the message has begun
//   e.COMM.NUMBER         enters a collective call
//   a.COMM.NUMBER[.CALL]  waits until all are in the collective call
//   r.COMM.NUMBER.ROOT[.CALL]  waits until its root is in it
//   m.NUMBER.MESSAGE      no step: the rank's receive NUMBER has matched the message
//
// A step that waits for a step which is in no list can be made: that other step was made in its
// process. So a list may begin and end anywhere, and ranks that wait for one another are found only
// where all their steps are listed. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check/findings/finding.h"

namespace fgmpi::findings {

/// The letters, by check's SpooledStep::Kind.
inline constexpr char kSteps[] = "bptngearm";

class UnbufferedRun {
 public:
  /// Reads a rank and its steps, behind those that were added for it before. Words that are no
  /// steps are ignored.
  void add_steps(std::string_view line);
  /// A finding for each rank that waits in a send for another rank that waits for it. `calls`: the
  /// calls that steps name.
  std::vector<Finding> find(const NamedCalls& calls);

 private:
  struct SpooledStep {
    char kind;
    uint64_t id, number = 0, root = 0, call = 0;
  };
  struct RankSteps {
    int64_t world = 0;
    std::vector<SpooledStep> steps;
    size_t next = 0;
    std::unordered_map<uint64_t, uint64_t> matches;
    std::vector<size_t> waiting;  ///< ranks that wait for a step of this one
    int64_t listed_at = -1;       ///< rank in whose `waiting` this one is
  };
  struct StepPosition {
    size_t rank, step;
  };
  /// The steps by which members enter one collective call, by rank.
  struct CollectiveSteps {
    std::vector<StepPosition> places;
    mutable size_t made = 0;  ///< a lower bound on how many of the first ones have been made
  };

  bool read_step(std::string_view text, RankSteps* rank);
  void index();
  bool made(const StepPosition& place) const { return ranks_[place.rank].next > place.step; }
  /// The rank with the step that this one waits for; -1: none.
  int64_t blocked_by(size_t rank) const;
  void go_on(size_t rank);
  /// Ranks that wait for one another, each for the next one of the list.
  std::vector<size_t> cycle_from(size_t rank) const;
  void report_cycle(const std::vector<size_t>& cycle, std::vector<Finding>* found) const;
  std::vector<Participant> calls_of(size_t rank) const;

  std::vector<RankSteps> ranks_;
  std::map<int64_t, size_t> by_world_;
  const NamedCalls* calls_ = nullptr;  ///< during find()
  /// The step of a message's receive, and of its send.
  std::unordered_map<uint64_t, StepPosition> taken_, begun_;
  std::map<std::pair<uint64_t, uint64_t>, CollectiveSteps> entered_;
};

}  // namespace fgmpi::findings
