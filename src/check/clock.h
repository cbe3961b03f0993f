// What a rank knows of others: vector clocks. A component counts the receives from any source that
// a rank has completed, or the collective calls that have been made on a communicator of several
// processes; components that are 0 are left out, so that a job without such receives has empty
// clocks.
// Thread rule: values, shared and never changed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/hash.h"

namespace fgmpi::check {

struct ClockPart {
  uint64_t of = 0;  ///< of_rank() or of_comm()
  uint64_t count = 0;
  bool operator==(const ClockPart&) const = default;
};
/// Sorted by `of`. Null: nothing is known.
using Clock = std::shared_ptr<const std::vector<ClockPart>>;

inline uint64_t of_rank(int world) { return static_cast<uint64_t>(world); }
/// Ranks are below 2^32, and so is the upper half of the keys of communicators, which is a rank.
inline uint64_t of_comm(uint64_t key) { return key | uint64_t{1} << 63; }

/// 0 when it is not there.
inline uint64_t known(const Clock& clock, uint64_t of) {
  if (!clock) return 0;
  auto at = std::lower_bound(clock->begin(), clock->end(), of,
                             [](const ClockPart& p, uint64_t name) { return p.of < name; });
  return at != clock->end() && at->of == of ? at->count : 0;
}

/// The larger of each component.
void learn(Clock* own, const Clock& other);
void learn(Clock* own, uint64_t of, uint64_t count);

/// What a rank knows. Of the communicators of several processes, which jobs with no race have too,
/// the first ones are kept in place, so that following them costs no memory from the heap.
struct Knowledge {
  using Near = std::array<ClockPart, 2>;

  Near near = {};  ///< `of` 0: free
  Clock clock;

  void learn_comm(const ClockPart& part) {
    for (ClockPart& own : near) {
      if (own.of == 0) own.of = part.of;
      if (own.of != part.of) continue;
      own.count = std::max(own.count, part.count);
      name_ = 0;
      return;
    }
    check::learn(&clock, part.of, part.count);
  }
  /// A hash of `near`, not 0.
  uint64_t near_name() const {
    if (!name_) name_ = name_of(near);
    return name_;
  }
  static uint64_t name_of(const Near& near) {
    uint64_t hash = 0;
    for (const ClockPart& part : near) hash = mix(mix(hash, part.of), part.count);
    return hash | 1;
  }
  [[gnu::always_inline]] void learn(const Knowledge& other) {
    if (other.clock != clock && other.clock) check::learn(&clock, other.clock);
    learn_near(other.near);
  }
  /// Of one that has no clock.
  [[gnu::always_inline]] void learn_near(const Near& other) {
    if (!is_same(near, other)) learn_other(other);
  }
  /// f(part) for each communicator that it knows something of.
  template <class F>
  void for_each_comm(F&& f) const {
    for (const ClockPart& part : near)
      if (part.of) f(part);
    if (clock)
      for (auto part = clock->rbegin(); part != clock->rend() && part->of >> 63; ++part) f(*part);
  }

 private:
  static bool is_same(const Near& a, const Near& b) {
    return ((a[0].of ^ b[0].of) | (a[0].count ^ b[0].count) | (a[1].of ^ b[1].of) |
            (a[1].count ^ b[1].count)) == 0;
  }
  void learn_other(const Near& other);

  mutable uint64_t name_ = 0;  ///< near_name(); 0: not known
};

}  // namespace fgmpi::check
