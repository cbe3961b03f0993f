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

/// The calls of a communicator that a rank has left early. The count is left_early().
inline uint64_t of_left(uint64_t key) { return key | uint64_t{1} << 62; }
inline bool is_of_left(uint64_t of) { return of >> 62 == 1; }
constexpr int kRankBits = 29;  ///< world ranks are below 2^29
/// What the library tells of windows, as a time: the rank may know of all events before it. No
/// communicator has this name, since the upper half of its key is less than 2^kRankBits.
constexpr uint64_t kOfTime = uint64_t{1} << 61;
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
/// As learn(), without the components of calls that were left early.
void learn_without_left(Clock* own, const Clock& other);

/// The clock of a rank. Even jobs without races count calls on communicators of several processes,
/// so the first components other than those of ranks are stored in place and need no heap memory.
/// `clock` has all others: a component may be in both, and then the larger count holds.
struct Knowledge {
  using Near = std::array<ClockPart, 4>;

  Near near = {};  ///< `of` 0: unused, and so are all behind it
  Clock clock;

  /// Raises one component: of a communicator, or the time.
  void learn_named(const ClockPart& part) {
    for (ClockPart& own : near) {
      if (own.of == 0) own.of = part.of;
      if (own.of != part.of) continue;
      own.count = std::max(own.count, part.count);
      name_ = 0;
      return;
    }
    check::learn(&clock, part.of, part.count);
  }
  uint64_t count_of(uint64_t of) const {
    uint64_t count = clock ? known(clock, of) : 0;
    for (const ClockPart& part : near)
      if (part.of == of) count = std::max(count, part.count);
    return count;
  }
  /// The rank that has left the call of the communicator with this number, or a later one, before
  /// all had made it, as far as this rank knows; -1: none.
  int left_early_by(uint64_t key, uint64_t number) const {
    const uint64_t left = count_of(of_left(key));
    return left >> kRankBits > number ? static_cast<int>(left & ((uint64_t{1} << kRankBits) - 1))
                                      : -1;
  }
  /// A hash of `near`, never 0.
  uint64_t near_name() const {
    if (!name_) name_ = name_of(near);
    return name_;
  }
  static uint64_t name_of(const Near& near) {
    uint64_t hash = 0;
    for (const ClockPart& part : near) {
      if (part.of == 0) break;
      hash = mix(mix(hash, part.of), part.count);
    }
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
    if (other.clock) learn_without_left(&clock, other.clock);
    for (const ClockPart& part : other.near)
      if (part.of && !is_of_left(part.of)) learn_named(part);
  }
  /// f(part) for each component of calls that were left early.
  template <class F>
  void for_each_left(F&& f) const {
    for (const ClockPart& part : near)
      if (is_of_left(part.of)) f(part);
    if (!clock) return;
    for (const ClockPart& part : *clock)
      if (is_of_left(part.of)) f(part);
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
    if ((a[0].of | b[0].of) == 0) return true;
    uint64_t differs = 0;
    for (size_t i = 0; i < a.size(); ++i)
      differs |= (a[i].of ^ b[i].of) | (a[i].count ^ b[i].count);
    return differs == 0;
  }
  void learn_other(const Near& other);

  mutable uint64_t name_ = 0;  ///< cached near_name(); 0: not computed yet
};

}  // namespace fgmpi::check
