// Which rank goes where, beside a naive model: two processes and their ranks are run step by step.
#include "balance/decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace fgmpi::balance {
namespace {

constexpr int64_t kMs = 1'000'000;

RankAtCall rank_with(int64_t burst, int64_t share, int64_t load, int64_t backlog) {
  RankAtCall rank;
  rank.burst = burst;
  rank.share = share;
  rank.load = load;
  rank.backlog = backlog;
  rank.lasting_share = share;
  rank.lasting_load = load;
  return rank;
}

TEST(Decision, GoesToTheIdleProcessWithTheLeastLoad) {
  const RankAtCall rank = rank_with(kMs, kMs, 30 * kMs, 10 * kMs);
  const std::vector<OtherProcess> asking = {
      {3, 8 * kMs, kMs, 0}, {5, 2 * kMs, kMs, 0}, {7, 4 * kMs, kMs, 0}};
  EXPECT_EQ(grant_move(rank, asking).process, 5u);
  EXPECT_EQ(grant_move(rank, {}).process, kStays);
}

TEST(Decision, StaysWhereAMoveGainsNothing) {
  const std::vector<OtherProcess> idle = {{1, 0, kMs, 0}};
  EXPECT_EQ(grant_move(rank_with(kMs, kMs, 9 * kMs, 9 * kMs), idle).process, 1u);
  EXPECT_EQ(grant_move(rank_with(kMs, kMs, 9 * kMs, 0), idle).process, kStays);
  EXPECT_EQ(grant_move(rank_with(kMoveCost - 1, kMs, 9 * kMs, 9 * kMs), idle).process, kStays);
  const std::vector<OtherProcess> soon = {{1, 0, -8 * kMs, 0}}, too_late = {{1, 0, -9 * kMs, 0}};
  EXPECT_EQ(grant_move(rank_with(kMs, kMs, 9 * kMs, 9 * kMs), soon).process, 1u);
  EXPECT_EQ(grant_move(rank_with(kMs, kMs, 9 * kMs, 9 * kMs), too_late).process, kStays);
}

TEST(Decision, StaysWhereProcessesAreEqual) {
  const std::vector<OtherProcess> equal = {{1, 30 * kMs, kMs, 30 * kMs}};
  EXPECT_EQ(grant_move(rank_with(kMs, kMs, 30 * kMs, kMs), equal).process, kStays);
  EXPECT_EQ(grant_move(rank_with(kMs, 10 * kMs, 40 * kMs, kMs), equal).process, kStays);
}

TEST(Decision, StaysWhereProcessesAreEqualOnAverage) {
  const std::vector<OtherProcess> asking = {{1, 10 * kMs, kMs, 29 * kMs}};
  RankAtCall rank = rank_with(kMs, kMs, 30 * kMs, 10 * kMs);
  EXPECT_EQ(grant_move(rank, asking).process, kStays);
  rank.lasting_load = 32 * kMs;
  EXPECT_EQ(grant_move(rank, asking).process, 1u);
  rank.lasting_load = 30 * kMs;
  rank.backlog = kWindow;  // suddenly there is much to do
  EXPECT_EQ(grant_move(rank, asking).process, 1u);
}

TEST(Decision, AGrantIsForWhoFitsAndWouldRatherGo) {
  Grant grant = {1, 5 * kMs, 7 * kMs};
  EXPECT_TRUE(fits(rank_with(5 * kMs, kMs, 0, kMs), grant));
  EXPECT_FALSE(fits(rank_with(6 * kMs, kMs, 0, kMs), grant));
  EXPECT_TRUE(fits(rank_with(kMs, 7 * kMs, 0, kMs), grant));
  EXPECT_FALSE(fits(rank_with(kMs, 8 * kMs, 0, kMs), grant));
  EXPECT_FALSE(fits(rank_with(kMs, kMs, 0, 0), grant));
  EXPECT_TRUE(is_among_first(grant, 4 * kMs));
  EXPECT_FALSE(is_among_first(grant, 5 * kMs));
  grant.take(rank_with(kMs, 3 * kMs, 0, 0));
  EXPECT_EQ(grant.ns, 4 * kMs);
  EXPECT_EQ(grant.load, 4 * kMs);
}

TEST(Decision, LastingLoadsAreEvenedOut) {
  EXPECT_TRUE(evens_out(rank_with(kMs, kMs, 12 * kMs, 0), 9 * kMs));
  EXPECT_FALSE(evens_out(rank_with(kMs, 2 * kMs, 12 * kMs, 0), 9 * kMs));
  EXPECT_FALSE(evens_out(rank_with(kMs, 0, 12 * kMs, 0), 9 * kMs));
  EXPECT_FALSE(evens_out(rank_with(kMoveCost - 1, kMs, 12 * kMs, 0), 9 * kMs));
}

TEST(Decision, ARankThatHasComeComputesBeforeItMovesAgain) {
  const std::vector<OtherProcess> idle = {{1, 0, kMs, 0}};
  RankAtCall rank = rank_with(kMs, kMs, 30 * kMs, 9 * kMs);
  rank.has_moved = true;
  rank.computed_here = kWindowsBetweenMoves * kMs - 1;
  EXPECT_EQ(grant_move(rank, idle).process, kStays);
  EXPECT_FALSE(goes_home(rank, 0));
  ++rank.computed_here;
  EXPECT_EQ(grant_move(rank, idle).process, 1u);
  EXPECT_TRUE(goes_home(rank, 0));
  EXPECT_FALSE(goes_home(rank, 29 * kMs));
  rank.share = 0;
  rank.computed_here = kCostsBetweenMoves * kMoveCost - 1;
  EXPECT_EQ(grant_move(rank, idle).process, kStays);
  ++rank.computed_here;
  EXPECT_EQ(grant_move(rank, idle).process, 1u);
}

/// Steps of ranks that meet at the end of each. A process runs its ranks one by one; one that runs
/// its last rank, or has none, asks. A window has so many steps, whose loads leave it as evenly as
/// new ones come. Returns the longest times of all steps and the moves.
struct ModelRun {
  std::vector<int64_t> makespans;
  std::vector<int> moves;
};

ModelRun run_model(const std::vector<int64_t>& work, std::vector<int> place, int processes,
                   int steps, int64_t steps_a_window = 1) {
  ModelRun out;
  std::vector<int64_t> share(work.size(), 0), load(processes, 0);
  std::vector<bool> moved(work.size(), false);
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<size_t>> queue(processes);
    for (size_t r = 0; r < work.size(); ++r) queue[place[r]].push_back(r);
    std::vector<int64_t> time(processes, 0), ran(processes, 0);
    std::vector<size_t> next(processes, 0);
    std::vector<Grant> grant(processes);
    out.moves.push_back(0);
    for (;;) {
      // The process that is free first, among those that still have ranks, is at a call's end.
      int at = -1;
      for (int p = 0; p < processes; ++p)
        if (next[p] < queue[p].size() && (at < 0 || time[p] < time[at])) at = p;
      if (at < 0) break;
      const size_t r = queue[at][next[at]++];
      RankAtCall rank;
      rank.burst = work[r];
      rank.share = share[r];
      rank.has_moved = moved[r];
      rank.computed_here = INT64_MAX;
      const int64_t last = out.makespans.empty() ? 0 : out.makespans.back();
      const auto load_of = [&](int p) {
        if (steps_a_window == 1 || last == 0) return load[p] + ran[p];
        return load[p] - load[p] / steps_a_window * std::min(time[at], last) / last + ran[p];
      };
      rank.load = load_of(at);
      rank.lasting_share = share[r];
      rank.lasting_load = load[at];
      for (size_t i = next[at]; i < queue[at].size(); ++i) rank.backlog += work[queue[at][i]];
      std::vector<OtherProcess> asking;
      for (int p = 0; p < processes; ++p)
        if (p != at && next[p] == queue[p].size())
          asking.push_back({static_cast<uint32_t>(p),
                            load_of(p) - std::max<int64_t>(time[p] - time[at], 0),
                            time[at] - time[p], load[p]});
      uint32_t to = kStays;
      if (fits(rank, grant[at])) {
        to = grant[at].process;
      } else if (const Grant made = grant_move(rank, asking); made.process != kStays) {
        grant[at] = made;
        to = made.process;
      }
      if (to != kStays) grant[at].take(rank);
      if (to == kStays) {
        time[at] += work[r];
        ran[at] += work[r];
        continue;
      }
      ++out.moves.back();
      moved[r] = true;
      place[r] = static_cast<int>(to);
      load[at] -= share[r];
      load[to] += share[r];
      time[to] = std::max(time[to], time[at]) + work[r];
      ran[to] += work[r];
    }
    out.makespans.push_back(*std::max_element(time.begin(), time.end()));
    for (int p = 0; p < processes; ++p) load[p] = 0;
    for (size_t r = 0; r < work.size(); ++r) load[place[r]] += share[r] = steps_a_window * work[r];
  }
  return out;
}

TEST(Decision, FourToOneIsWithinARankOfTheBestFromTheSecondStepOn) {
  for (const int processes : {2, 4, 8}) {
    std::vector<int64_t> work(64);
    std::vector<int> place(64);
    for (int r = 0; r < 64; ++r) {
      work[r] = r < 32 ? 4 * kMs : kMs;
      place[r] = r * processes / 64;
    }
    const int64_t bound = std::accumulate(work.begin(), work.end(), int64_t{0}) / processes;
    for (const int64_t steps_a_window : {1, 3, 10, 40}) {
      const ModelRun run = run_model(work, place, processes, 40, steps_a_window);
      for (int step = 1; step < 40; ++step)
        EXPECT_LE(run.makespans[step], bound + (processes == 2 ? 0 : 4 * kMs))
            << processes << " " << steps_a_window << " " << step;
      EXPECT_EQ(std::accumulate(run.moves.begin() + 4, run.moves.end(), 0), 0)
          << processes << " " << steps_a_window;
    }
  }
}

TEST(Decision, RandomLoadsAreMadeWorseByOnePercentAtMostAndMovesEnd) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    const int processes = 2 + static_cast<int>(random() % 7);
    const size_t ranks = processes * (1 + random() % 40);
    std::vector<int64_t> work(ranks);
    std::vector<int> place(ranks);
    std::vector<int64_t> alone(processes, 0);
    for (size_t r = 0; r < ranks; ++r) {
      work[r] = 10'000 + static_cast<int64_t>(random() % (8 * kMs));
      place[r] = static_cast<int>(r * processes / ranks);
      alone[place[r]] += work[r];
    }
    const int64_t unmoved = *std::max_element(alone.begin(), alone.end());
    const int64_t longest = *std::max_element(work.begin(), work.end());
    const int64_t bound =
        std::accumulate(work.begin(), work.end(), int64_t{0}) / processes + 2 * longest;
    const ModelRun run = run_model(work, place, processes, 60);
    for (const int64_t makespan : run.makespans)
      EXPECT_LE(makespan, unmoved + unmoved / 100) << trial;
    EXPECT_LE(run.makespans.back(), std::max(bound, longest)) << trial;
    EXPECT_EQ(std::accumulate(run.moves.begin() + 40, run.moves.end(), 0), 0) << trial;
  }
}

TEST(Decision, EqualProcessesMoveNothing) {
  for (const int processes : {2, 4, 8}) {
    std::vector<int> place(64);
    for (int r = 0; r < 64; ++r) place[r] = r * processes / 64;
    const ModelRun run = run_model(std::vector<int64_t>(64, kMs), place, processes, 10);
    EXPECT_EQ(std::accumulate(run.moves.begin(), run.moves.end(), 0), 0);
  }
}

}  // namespace
}  // namespace fgmpi::balance
