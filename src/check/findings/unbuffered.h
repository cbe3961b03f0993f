// Does a program depend on buffering? Ranks' calls as steps, made again as if no standard send were
// buffered (check leaves those that it could not make itself), and the ranks that then wait for one
// another.
//
// A step is a letter of kSteps and numbers behind dots, all hexadecimal:
//
//   b.MESSAGE             a send begins            n.MESSAGE[.CALL]             waits until the
//                         message's receive has begun
//   p.NUMBER              a receive begins         g.MESSAGE[.CALL]             waits until the
//                         message's send has begun
//   t.MESSAGE             a receive of it begins   a.COMM.NUMBER[.CALL]         waits until all are
//                         in the collective call
//   e.COMM.NUMBER         enters a collective      r.COMM.NUMBER.ROOT[.CALL]    waits until its
//                         root is in it
//   m.NUMBER.MESSAGE      what the rank's receive has taken: no step
//
// What other ranks' step would end a wait and is nowhere to be found has been made. So a list may
// begin and end anywhere, and ranks that wait for one another are found only where all their steps
// are there. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check/findings/finding.h"

namespace fgmpi::findings {

/// By check's Step::Kind.
inline constexpr char kSteps[] = "bptngearm";

class UnbufferedRun {
 public:
  /// The rank and steps behind those that were added of it before. What is no step is left out.
  void add_steps(std::string_view line);
  /// A finding for each rank that waits in a send for another one that waits for it. `calls`: those
  /// that steps name.
  std::vector<Finding> find(const NamedCalls& calls);

 private:
  struct Step {
    char kind;
    uint64_t id, number = 0, root = 0, call = 0;
  };
  struct Rank {
    int64_t world = 0;
    std::vector<Step> steps;
    size_t next = 0;
    std::unordered_map<uint64_t, uint64_t> matches;
    std::vector<size_t> waiting;  ///< ranks that wait for this one to go on
    int64_t listed_at = -1;       ///< whose `waiting` this one is in
  };
  struct Place {
    size_t rank, step;
  };
  /// A collective call: where its members enter it, by rank.
  struct Entries {
    std::vector<Place> places;
    mutable size_t made = 0;  ///< so many from the first on have been made, as far as was looked
  };

  bool read_step(std::string_view text, Rank* rank);
  void index();
  bool made(const Place& place) const { return ranks_[place.rank].next > place.step; }
  /// The rank whose step this one waits for; -1: none.
  int64_t blocked_by(size_t rank) const;
  void go_on(size_t rank);
  /// Ranks that wait for one another: each for the next.
  std::vector<size_t> cycle_from(size_t rank) const;
  void tell(const std::vector<size_t>& cycle, std::vector<Finding>* found) const;
  std::vector<Participant> calls_of(size_t rank) const;

  std::vector<Rank> ranks_;
  std::map<int64_t, size_t> by_world_;
  const NamedCalls* calls_ = nullptr;                  ///< while it finds
  std::unordered_map<uint64_t, Place> taken_, begun_;  ///< where a message is
  std::map<std::pair<uint64_t, uint64_t>, Entries> entered_;
};

}  // namespace fgmpi::findings
