#include "comm/hierarchy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace fgmpi::comm {
namespace {

/// Compares the hierarchy of a list of world ranks with members and runs that a slow way finds.
void check(const std::vector<int32_t>& worlds) {
  RankMap map = RankMap::from_ranks(worlds);
  Hierarchy h = build_hierarchy(map);
  std::vector<uint32_t> counts(g_av.processes());
  std::vector<ProcessRun> runs;
  for (size_t r = 0; r < worlds.size(); ++r) {
    uint32_t p = g_av.process_of(static_cast<uint32_t>(worlds[r]));
    ++counts[p];
    if (!runs.empty() && runs.back().index == p)
      ++runs.back().count;
    else
      runs.push_back({static_cast<int32_t>(r), 1, p});
  }
  std::vector<uint32_t> processes, members;
  for (uint32_t p = 0; p < counts.size(); ++p) {
    if (!counts[p]) continue;
    processes.push_back(p);
    members.push_back(counts[p]);
  }
  ASSERT_EQ(h.count(), processes.size());
  for (uint32_t i = 0; i < h.count(); ++i) {
    EXPECT_EQ(h.processes[i], processes[i]);
    EXPECT_EQ(h.members(map, i), members[i]);
  }
  if (map.regular()) {
    EXPECT_LE(h.bytes(), 4 * processes.size() + 8 * sizeof(comm::ProcessRun)) << "no more is kept";
  }
  EXPECT_EQ(h.one_run_each, runs.size() == processes.size());
  std::vector<ProcessRun> listed;
  h.runs_of(map, &listed);
  ASSERT_EQ(listed.size(), runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(listed[i].first, runs[i].first);
    EXPECT_EQ(listed[i].count, runs[i].count);
    EXPECT_EQ(h.processes[listed[i].index], runs[i].index);
  }
  EXPECT_LE(h.runs.size(), 2 * processes.size()) << "no more is kept";
  for (size_t r = 0; r < worlds.size(); ++r)
    EXPECT_EQ(h.processes[h.index_of_rank(map, static_cast<int32_t>(r))],
              g_av.process_of(static_cast<uint32_t>(worlds[r])));
  for (uint32_t p = 0; p < g_av.processes(); ++p) {
    std::vector<int32_t> expected, ranks;
    for (size_t r = 0; r < worlds.size(); ++r)
      if (g_av.process_of(static_cast<uint32_t>(worlds[r])) == p)
        expected.push_back(static_cast<int32_t>(r));
    Hierarchy::ranks_of(map, p, &ranks);
    EXPECT_EQ(ranks, expected);
    EXPECT_EQ(h.index_of_process(p) != ~0u, !expected.empty());
  }
}

TEST(Hierarchy, MemoryOfARegularGroupDoesNotGrowWithTheProcesses) {
  constexpr uint32_t kProcesses = 1000, kEach = 6;
  std::vector<uint32_t> starts;
  for (uint32_t p = 0; p <= kProcesses; ++p) starts.push_back(p * kEach);
  g_av.init(starts, 7);
  constexpr int32_t kWorld = kProcesses * kEach;
  for (const RankMap& map :
       {RankMap::direct(kWorld), RankMap::strided(kWorld / 2, 0, 2),
        RankMap::strided(kWorld, kWorld - 1, -1), RankMap::strided(kWorld / 4, 3, 4),
        RankMap::strided(kWorld / 12, 5, 12)}) {
    Hierarchy h = build_hierarchy(map);
    EXPECT_LE(h.bytes(), 8 * sizeof(comm::ProcessRun));
    uint32_t members = 0;
    for (uint32_t i = 0; i < h.count(); ++i) members += h.members(map, i);
    EXPECT_EQ(members, static_cast<uint32_t>(map.size()));
  }
}

TEST(Hierarchy, AgreesWithTheListOfRanks) {
  for (const std::vector<uint32_t>& starts :
       {std::vector<uint32_t>{0, 8, 16, 24}, std::vector<uint32_t>{0, 1, 13, 14, 40},
        std::vector<uint32_t>{0, 30},
        std::vector<uint32_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}}) {
    g_av.init(starts, 0);
    std::vector<int32_t> all(starts.back());
    std::iota(all.begin(), all.end(), 0);
    check(all);
    std::vector<int32_t> reversed(all.rbegin(), all.rend());
    check(reversed);
    std::vector<int32_t> even;
    for (int32_t w : all)
      if (w % 2 == 0) even.push_back(w);
    check(even);
    check({3});
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
      std::shuffle(all.begin(), all.end(), random);
      check(all);
      check({all.begin(), all.begin() + 1 + static_cast<int>(random() % all.size())});
    }
  }
}

}  // namespace
}  // namespace fgmpi::comm
