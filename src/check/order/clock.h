// What a rank knows of other ranks' events: vector clocks. A component counts the receives
// from MPI_ANY_SOURCE that one rank has completed, or the collective calls made on one
// communicator of several processes, or the calls of a communicator that some rank has left before
// all had made them. Components that are 0 are left out, so a job without such receives has empty
// clocks.
// Thread rule: values; shared ones never change.
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
/// Components sorted by `of`; null: all are 0.
using Clock = std::shared_ptr<const std::vector<ClockPart>>;

inline uint64_t of_rank(int world) { return static_cast<uint64_t>(world); }
/// Bit 63 tells communicators from ranks. It is free because the upper half of a communicator's key
/// is a rank, and ranks are ints.
inline uint64_t of_comm(uint64_t key) { return key | uint64_t{1} << 63; }

/// The calls of a communicator that a rank has left early. The count is left_early(). Only
/// Knowledge::near has such components.
inline uint64_t of_left(uint64_t key) { return key | uint64_t{1} << 62; }
inline bool is_of_left(uint64_t of) { return of >> 62 == 1; }
constexpr int kRankBits = 29;  ///< world ranks are below 2^29
/// The rank has left the collective call with this number.
inline uint64_t left_early(uint64_t number, int world) {
  return (number + 1) << kRankBits | static_cast<uint64_t>(world);
}

/// The count of one component; 0 where the clock has none for it.
inline uint64_t known(const Clock& clock, uint64_t of) {
  if (!clock) return 0;
  auto at = std::lower_bound(clock->begin(), clock->end(), of,
                             [](const ClockPart& p, uint64_t name) { return p.of < name; });
  return at != clock->end() && at->of == of ? at->count : 0;
}

/// Raises each component of `own` to the larger of the two.
void learn(Clock* own, const Clock& other);
void learn(Clock* own, uint64_t of, uint64_t count);

/// The clock of a rank. Even jobs without races count calls on communicators of several processes,
/// so the first of these components are stored in place and need no heap memory.
struct Knowledge {
  using Near = std::array<ClockPart, 2>;

  Near near = {};  ///< `of` 0: unused
  Clock clock;

  void learn_comm(const ClockPart& part) {
    for (ClockPart& own : near) {
      if (own.of == 0) own.of = part.of;
      if (own.of != part.of) continue;
      own.count = std::max(own.count, part.count);
      name_ = 0;
      return;
    }
    if (is_of_left(part.of) || replaces_left(part))
      replace_left(part);
    else
      check::learn(&clock, part.of, part.count);
  }
  /// The rank that has left the call of the communicator with this number, or a later one, before
  /// all had made it, as far as this rank knows; -1: none.
  int left_early_by(uint64_t key, uint64_t number) const {
    for (const ClockPart& part : near)
      if (part.of == of_left(key) && part.count >> kRankBits > number)
        return static_cast<int>(part.count & ((uint64_t{1} << kRankBits) - 1));
    return -1;
  }
  /// A hash of `near`, never 0.
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
  /// As learn(), from a rank that has no `clock`.
  [[gnu::always_inline]] void learn_near(const Near& other) {
    if (!is_same(near, other)) learn_other(other);
  }
  /// As learn(), where `other` may be later than what the rank has learned: the components that a
  /// report follows from are left out.
  void learn_at_most(const Knowledge& other) {
    if (other.clock) check::learn(&clock, other.clock);
    for (const ClockPart& part : other.near)
      if (part.of && !is_of_left(part.of)) learn_comm(part);
  }
  /// f(part) for each component of a communicator.
  template <class F>
  void for_each_comm(F&& f) const {
    for (const ClockPart& part : near)
      if (part.of >> 63) f(part);
    if (clock)
      for (auto part = clock->rbegin(); part != clock->rend() && part->of >> 63; ++part) f(*part);
  }

 private:
  static bool is_same(const Near& a, const Near& b) {
    return ((a[0].of ^ b[0].of) | (a[0].count ^ b[0].count) | (a[1].of ^ b[1].of) |
            (a[1].count ^ b[1].count)) == 0;
  }
  void learn_other(const Near& other);
  /// Has the component of a communicator no place but that of one of a call left early?
  bool replaces_left(const ClockPart& part) const {
    return (is_of_left(near[0].of) || is_of_left(near[1].of)) && known(clock, part.of) == 0;
  }
  /// Drops a component of a call left early, where `near` has no other place: it finds less then.
  void replace_left(const ClockPart& part) {
    for (ClockPart& own : near)
      if (is_of_left(own.of)) {
        own = part;
        name_ = 0;
        return;
      }
  }

  mutable uint64_t name_ = 0;  ///< cached near_name(); 0: not computed yet
};

}  // namespace fgmpi::check
