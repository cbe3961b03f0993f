// Compares the choice of stores with a model that logs all frames and adds up from the start, with
// injected times. Also tests its purpose: it settles on the cheaper way soon, and trials cost
// little, whatever times the reader reports.
#include "transport/shm/stores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <vector>

namespace fgmpi::transport::shm {
namespace {

/// The rule of stores.h, written for clarity instead of speed.
class Model {
 public:
  explicit Model(uint64_t lap) : lap_(lap) {}
  bool past = false;
  void wrote(uint64_t bytes, uint64_t ticks) { log_.push_back({bytes, ticks}); }
  void taken(uint64_t bytes, uint64_t ticks) {
    Point now{bytes, ticks, sum(&Timed::bytes), sum(&Timed::ticks)};
    if (bytes == seen_) return;
    seen_ = bytes;
    if (bytes > now.written_bytes) return;
    if (!start_) {
      if (bytes >= not_before_) start_ = now;
      return;
    }
    const uint64_t in = bytes - start_->taken_bytes,
                   out = now.written_bytes - start_->written_bytes;
    if (in < lap_ || out < lap_) return;
    costs_.push_back(1 + (ticks - start_->taken_ticks) / std::max<uint64_t>(1, in / 1024) +
                     (now.written_ticks - start_->written_ticks) /
                         std::max<uint64_t>(1, out / 1024));
    start_ = now;
    decide();
  }

 private:
  struct Timed {
    uint64_t bytes, ticks;
  };
  struct Point {
    uint64_t taken_bytes, taken_ticks, written_bytes, written_ticks;
  };
  uint64_t sum(uint64_t Timed::*what) const {
    uint64_t total = 0;
    for (const Timed& frame : log_) total += frame.*what;
    return total;
  }
  uint64_t cheapest_of_last(size_t n) const {
    return *std::min_element(costs_.end() - n, costs_.end());
  }
  void decide() {
    if (settled_) {  // a trial
      if (costs_.size() < 2) return;
      const uint64_t cost = cheapest_of_last(2);
      const double ratio = static_cast<double>(std::max(cost, *settled_)) /
                           static_cast<double>(std::min(cost, *settled_));
      wait_ = static_cast<size_t>(std::min(600.0, std::max(32.0, 150 * (ratio - 1) + 1e-9)));
      const bool keep = cost < *settled_ - *settled_ / 8;
      settled_.reset();
      costs_.clear();
      if (!keep) turn();
    } else if (costs_.size() == wait_) {
      settled_ = cheapest_of_last(4);
      turn();
    }
  }
  void turn() {
    past = !past;
    costs_.clear();
    start_.reset();
    not_before_ = sum(&Timed::bytes) + lap_;
  }

  uint64_t lap_, seen_ = 0, not_before_ = 0;
  size_t wait_ = 4;  ///< laps of the settled way before a trial
  std::vector<Timed> log_;
  std::vector<uint64_t> costs_;  ///< costs of the laps since the last decision
  std::optional<Point> start_;
  std::optional<uint64_t> settled_;
};

struct Costs {
  uint64_t write[2], read[2];  ///< ticks for a kibibyte, through the caches and past them
};
constexpr Costs kNear = {{100, 110}, {80, 190}};
constexpr Costs kFar = {{580, 140}, {210, 180}};
constexpr Costs kAlike = {{100, 100}, {100, 95}};

/// A ring whose two sides take the given times, with Stores and, if wanted, the model.
struct Pair {
  explicit Pair(uint32_t bulk, bool with_model) : bulk(bulk), stores(bulk) {
    if (with_model) model.emplace(std::max<uint32_t>(bulk, 64 << 10) / 4);
  }
  /// Moves one frame; the reader follows within what the ring holds.
  void frame(uint64_t bytes, const Costs& costs, uint64_t interruption = 0) {
    const bool past = stores.past_caches();
    moved[past] += bytes;
    in_ring += bytes;
    if (stores.timed()) {
      const uint64_t ticks = bytes * costs.write[past] / 1024 + interruption;
      stores.wrote(bytes, ticks);
      if (model) model->wrote(bytes, ticks);
      ring.push_back({bytes, bytes * costs.read[past] / 1024, bytes});
    } else {
      ring.push_back({0, 0, bytes});
    }
    if (in_ring < bulk * uint64_t{3} / 4) return;
    while (in_ring > bulk / 4) take();
    stores.taken(bytes_taken, ticks_taken);
    if (!model) return;
    model->taken(bytes_taken, ticks_taken);
    ASSERT_EQ(stores.past_caches(), model->past) << "after " << moved[0] + moved[1] << " bytes";
  }
  void take() {
    bytes_taken += ring.front().timed;
    ticks_taken += ring.front().ticks;
    in_ring -= ring.front().bytes;
    ring.pop_front();
  }
  /// Moves `bytes` bytes; returns the share of them that was stored past the caches.
  double past_share(uint64_t bytes, const Costs& costs) {
    const uint64_t before[2] = {moved[0], moved[1]};
    while (moved[0] + moved[1] < before[0] + before[1] + bytes) frame(16 << 10, costs);
    return static_cast<double>(moved[1] - before[1]) /
           static_cast<double>(moved[0] + moved[1] - before[0] - before[1]);
  }

  struct InRing {
    uint64_t timed, ticks, bytes;
  };
  uint32_t bulk;
  Stores stores;
  std::optional<Model> model;
  std::deque<InRing> ring;
  uint64_t in_ring = 0, bytes_taken = 0, ticks_taken = 0;
  uint64_t moved[2] = {0, 0};
};

TEST(Stores, AgreeWithAModelThatKeepsALog) {
  std::mt19937 random(11);
  for (uint32_t bulk : {16u << 10, 64u << 10, 256u << 10}) {
    Pair pair(bulk, true);
    const uint64_t most = std::min(16u << 10, bulk / 4);
    Costs costs = kNear;
    int turns = 0;
    bool before = false;
    for (int step = 0; step < 12000; ++step) {
      if (random() % 4000 == 0) costs = random() % 3 == 0 ? kAlike : random() % 2 ? kNear : kFar;
      pair.frame(Stores::kLeast + random() % (most - Stores::kLeast + 1), costs,
                 random() % 200 ? random() % 50 : 1'000'000);
      if (HasFatalFailure()) return;
      turns += pair.stores.past_caches() != before;
      before = pair.stores.past_caches();
    }
    EXPECT_GT(turns, 4) << bulk;
  }
}

TEST(Stores, TheCheaperWayIsTakenAndTrialsAreRare) {
  constexpr uint64_t kSoon = 256 << 20;
  Pair pair(256 << 10, false);
  for (int round = 0; round < 3; ++round) {
    pair.past_share(kSoon, kFar);
    EXPECT_GT(pair.past_share(1 << 30, kFar), 0.98);
    pair.past_share(kSoon, kNear);
    EXPECT_LT(pair.past_share(1 << 30, kNear), 0.06);
  }
  Pair fresh(256 << 10, false);
  EXPECT_GT(fresh.past_share(32 << 20, kFar), 0.9) << "the first trial is soon";
  Pair alike(256 << 10, false);
  EXPECT_LT(alike.past_share(1 << 30, kAlike), 0.1) << "no change for so little";
}

TEST(Stores, InterruptionsChangeNothing) {
  Pair pair(256 << 10, false);
  pair.past_share(64 << 20, kNear);
  std::mt19937 random(5);
  uint64_t before = pair.moved[1], all = 0;
  for (int i = 0; i < 40000; ++i, all += 16 << 10)
    pair.frame(16 << 10, kNear, random() % 150 ? 0 : 10'000'000);
  EXPECT_LT(static_cast<double>(pair.moved[1] - before) / static_cast<double>(all), 0.2);
}

TEST(Stores, RulesHoldForGood) {
  for (bool past : {false, true}) {
    Stores stores(256 << 10, past ? Stores::Rule::kPastCaches : Stores::Rule::kThroughCaches);
    for (int i = 0; i < 10000; ++i) {
      ASSERT_EQ(stores.past_caches(), past);
      ASSERT_FALSE(stores.timed());
      stores.taken(i * 100000, i);
    }
  }
}

TEST(Stores, WhatTheReaderSaysMayBeNonsense) {
  std::mt19937_64 random(3);
  Stores stores(64 << 10);
  uint64_t written = 0;
  int past = 0;
  for (int i = 0; i < 200000; ++i) {
    if (stores.timed()) stores.wrote(16 << 10, random() >> random() % 64), written += 16 << 10;
    stores.taken(random() % 2 ? random() : written - random() % (64 << 10),
                 random() >> random() % 64);
    past += stores.past_caches();
  }
  EXPECT_GT(past, 0);
  EXPECT_LT(past, 200000);
}

}  // namespace
}  // namespace fgmpi::transport::shm
