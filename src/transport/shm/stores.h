// Stores: how one process writes long payloads into another's ring, found by measurement.
//
// A payload is written in one of two ways. Through the caches: ordinary stores, which must first
// fetch each line from the cache of the reader's core, from where the reader fetches it back. Past
// the caches: stores that go to memory without fetching, from where the reader loads. Which way is
// faster depends on how far the two cores are from each other. With a common last-level cache the
// first way is up to twice as fast; without one it takes three times as long. This changes as
// processes and the processors of a virtual machine move, and no system call reports it. So the
// costs are measured, on the payloads themselves.
//
//   The writer times every fourth long frame and marks it. The reader times its work on the marked
//   frames, and publishes sums beside its credits. A lap is about as many bytes as the ring has;
//   its cost is what both sides together needed for a byte. Every so many laps the other way has a
//   trial of three laps. The first of them, with lines of the settled way still in the ring, does
//   not count. To win, the cheaper of the other two must be an eighth cheaper than the cheapest of
//   the four laps before (any lap may contain an interruption). The dearer the other way was, the
//   later its next trial: trials cost about two percent.
//
// Thread rule: one thread. What the reader publishes is not trusted: it can only make the choice a
// bad one. Invariant: the choice has no effect on what arrives, nor on its order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/processor.h"

namespace fgmpi::transport::shm {

/// The time, in units that are equal in all processes of a host.
inline uint64_t ticks() { return processor::read_counter(); }

class Stores {
 public:
  /// kMeasured, or one of the two ways for ever.
  enum class Rule : uint8_t { kMeasured, kThroughCaches, kPastCaches };
  /// The size from which a payload is long; shorter ones are always written through the caches.
  static constexpr size_t kLeast = 4096;

  explicit Stores(uint32_t bulk, Rule rule = Rule::kMeasured)
      : lap_bytes_(std::max(bulk, kLeastLap) / kTimedEvery),
        measured_(rule == Rule::kMeasured),
        past_(rule == Rule::kPastCaches) {}

  /// How the next long payload is to be written.
  bool past_caches() const { return past_; }
  /// Called once for each long payload: is it to be timed by both sides?
  bool timed() { return measured_ && ++frames_ % kTimedEvery == 0; }
  /// True if the next long payload is written through the caches and not timed. Then its writer may
  /// make it in place, and calls made_in_place().
  bool may_be_made_in_place() const {
    return !past_ && !(measured_ && (frames_ + 1) % kTimedEvery == 0);
  }
  void made_in_place() { ++frames_; }
  /// Records that a timed payload was written in so many ticks.
  void wrote(size_t bytes, uint64_t ticks) {
    written_.bytes += bytes;
    written_.ticks += ticks;
  }
  /// Records what the reader has published: all timed bytes that it has consumed so far, and
  /// their ticks.
  void taken(uint64_t bytes, uint64_t ticks) {
    if (__builtin_expect(bytes != taken_bytes_, 0)) end_lap({bytes, ticks});
  }

 private:
  struct LapSum {
    uint64_t bytes, ticks;
  };
  static constexpr uint32_t kTimedEvery = 4;
  static constexpr uint32_t kLeastLap = 64 << 10;
  /// Laps from one trial to the next when the other way costs twice as much, and the bounds of
  /// this number.
  static constexpr uint64_t kWait = 150, kLeastWait = 32, kMostWait = 600;
  static constexpr uint32_t kTrialLaps = 2, kLapsKept = 4;

  void end_lap(LapSum taken);
  void lap_done(uint64_t cost);
  void go_other_way();
  uint64_t cheapest(uint32_t laps) const { return *std::min_element(costs_, costs_ + laps); }

  LapSum written_ = {0, 0};
  uint64_t taken_bytes_ = 0;
  LapSum lap_written_ = {0, 0}, lap_taken_ = {0, 0};  ///< where the lap began, for either side
  uint64_t first_ = 0;  ///< timed bytes before this one belong to no lap
  uint64_t costs_[kLapsKept] = {};
  uint64_t settled_cost_ = 0;
  uint32_t lap_bytes_;
  uint32_t frames_ = 0;
  uint32_t left_ = kLapsKept;  ///< laps until a trial begins or ends
  bool measured_;
  bool past_;
  bool counting_ = false;  ///< a lap has begun
  bool trial_ = false;
};

static_assert(sizeof(Stores) == 120);

}  // namespace fgmpi::transport::shm
