// The random scheduler of mpiexec -fuzz, which favours rare orders.
//
// Probabilistic concurrency testing: each chain of choices (messages of one sender to a rank, tests
// of one request) has a random priority. Of the choices at a point the one of the highest chain
// happens. At d - 1 points, drawn from the length of an execution, the chain whose choice would
// happen falls below all others. A seed meets an error that needs d choices in a certain order with
// a probability of at least 1 / (n k^(d-1)), for n chains and k choices; uniform choices would have
// a probability of 1 / n^k. The seed determines d, which is 1 to 4.
//
// Sources: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010; Ozkan, Majumdar, Niksic, Befrouei,
// Weissenbacher, "Randomized Testing of Distributed Systems with Probabilistic Guarantees",
// OOPSLA 2018 (chains of messages).
// Thread rule: none (values).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "explore/choice.h"

namespace fgmpi::explore {

class PriorityScheduler {
 public:
  /// `length`: the approximate number of choices in an execution.
  PriorityScheduler(uint64_t seed, uint64_t length);
  /// The index of the choice that happens. REQUIRES: `choices` is not empty.
  size_t pick(const std::vector<Choice>& choices);

 private:
  using Chain = std::tuple<uint8_t, uint32_t, int32_t, uint64_t>;
  static Chain chain_of(const Choice& choice);
  uint64_t priority_of(const Chain& chain);
  size_t highest(const std::vector<Choice>& choices);

  RandomSequence random_;
  std::set<uint64_t> changes_;  ///< points at which a chain falls
  std::map<Chain, uint64_t> priorities_;
  uint64_t point_ = 0, lowest_;
};

}  // namespace fgmpi::explore
