// The priorities by which the random scheduler chooses.

#include "readers/exploration/fuzz.h"

#include <algorithm>

namespace fgmpi::explore {
namespace {

constexpr uint64_t kDepths = 4;
/// Priorities that were not changed are above kUnchanged; chains of repetitions that fell are below
/// kRepeats. So a loop is repeated only where all others have fallen: other executions show the
/// same with fewer repetitions.
constexpr uint64_t kUnchanged = uint64_t{1} << 32, kRepeats = kUnchanged / 2;

}  // namespace

PriorityScheduler::PriorityScheduler(uint64_t seed, uint64_t length)
    : random_(seed), lowest_(kRepeats) {
  for (uint64_t n = seed % kDepths; n > 0; --n)
    changes_.insert(random_.next() % std::max<uint64_t>(length, 1));
}

/// The chain of a choice: one for each kind, rank and sender; for tests one for each request.
PriorityScheduler::Chain PriorityScheduler::chain_of(const Choice& c) {
  const uint64_t which = c.kind == Choice::kDone ? mix(c.number, c.context) : 0;
  return {c.kind, c.rank, c.source, which};
}

uint64_t PriorityScheduler::priority_of(const Chain& chain) {
  auto [at, fresh] = priorities_.try_emplace(chain);
  if (fresh) at->second = kUnchanged + random_.next() % kUnchanged;
  return at->second;
}

size_t PriorityScheduler::highest(const std::vector<Choice>& choices) {
  size_t best = 0;
  uint64_t priority = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool repeats = choices[i].kind == Choice::kRepeat;
    const uint64_t p = repeats ? kRepeats : priority_of(chain_of(choices[i]));
    if (p > priority) best = i;
    priority = std::max(p, priority);
  }
  return best;
}

size_t PriorityScheduler::pick(const std::vector<Choice>& choices) {
  if (changes_.contains(point_++)) priorities_[chain_of(choices[highest(choices)])] = --lowest_;
  return highest(choices);
}

}  // namespace fgmpi::explore
