// The measurement that decides how long payloads are stored into a ring.

#include "transport/shm/stores.h"

namespace fgmpi::transport::shm {
namespace {

/// The cost of a kibibyte, within bounds that keep the arithmetic from overflowing.
uint64_t cost(uint64_t bytes, uint64_t ticks) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  return std::min(ticks, kMost) / std::max<uint64_t>(1, bytes / 1024);
}

}  // namespace

void Stores::end_lap(LapSum taken) {
  taken_bytes_ = taken.bytes;
  if (!measured_ || taken.bytes > written_.bytes) return;  // more than was written: impossible
  if (!counting_) {
    if (taken.bytes < first_) return;
    counting_ = true;
  } else {
    const uint64_t in = taken.bytes - lap_taken_.bytes, out = written_.bytes - lap_written_.bytes;
    if (in < lap_bytes_ || out < lap_bytes_) return;
    lap_done(1 + cost(in, taken.ticks - lap_taken_.ticks) +
             cost(out, written_.ticks - lap_written_.ticks));
    if (!counting_) return;
  }
  lap_written_ = written_;
  lap_taken_ = taken;
}

void Stores::lap_done(uint64_t cost) {
  --left_;
  costs_[left_ % kLapsKept] = cost;
  if (left_ > 0) return;
  if (!trial_) {
    settled_cost_ = cheapest(kLapsKept);
    trial_ = true;
    left_ = kTrialLaps;
    return go_other_way();
  }
  trial_ = false;
  const uint64_t tried = cheapest(kTrialLaps);
  const uint64_t less = std::min(tried, settled_cost_), more = std::max(tried, settled_cost_);
  left_ = static_cast<uint32_t>(std::clamp(kWait * (more - less) / less, kLeastWait, kMostWait));
  if (tried >= settled_cost_ - settled_cost_ / 8) go_other_way();
}

void Stores::go_other_way() {
  past_ = !past_;
  counting_ = false;
  first_ = written_.bytes + lap_bytes_;
}

}  // namespace fgmpi::transport::shm
