// Compares process groups that are added and removed with a plain list of them, and tests maps that
// travel between jobs.
#include "ch4-av-rankmap/process_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ch4-av-rankmap/mlut.h"
#include "ch4-av-rankmap/travel.h"

namespace fgmpi {
namespace {

struct ProcessGroupsTest : testing::Test {
  // Other tests must find no process groups.
  void TearDown() override { g_process_groups = ProcessGroups(); }
};

struct Model {
  GroupUid uid;
  uint32_t pgid = 0;
  std::vector<uint32_t> counts;
};

std::vector<uint32_t> random_counts(std::mt19937& random) {
  std::vector<uint32_t> counts(1 + random() % 6);
  for (uint32_t& c : counts) c = 1 + random() % (random() % 2 ? 3 : 50);
  return counts;
}

/// Checks that each rank of each group is located where the model has it, and that no two ranks
/// have the same number.
void compare(const std::vector<Model>& models) {
  std::vector<bool> used(g_av.all_ranks());
  for (const Model& m : models) {
    ASSERT_EQ(g_process_groups.find(m.uid), m.pgid);
    ASSERT_EQ(g_process_groups.processes(m.pgid), m.counts.size());
    uint32_t lpid = 0;
    for (uint32_t p = 0; p < m.counts.size(); ++p) {
      const uint32_t process = g_process_groups.first_process(m.pgid) + p;
      ASSERT_EQ(g_av.count(process), m.counts[p]);
      ASSERT_EQ(g_process_groups.group_of_process(process), m.pgid);
      for (uint32_t local = 0; local < m.counts[p]; ++local, ++lpid) {
        const int32_t global = g_process_groups.global_of({m.pgid, lpid});
        const Location at = g_av.locate(static_cast<uint32_t>(global));
        ASSERT_EQ(at.process, process);
        ASSERT_EQ(at.local, local);
        ASSERT_EQ(g_process_groups.find_rank(global), (GroupRank{m.pgid, lpid}));
        ASSERT_FALSE(used[static_cast<size_t>(global)]);
        used[static_cast<size_t>(global)] = true;
      }
    }
  }
}

Model own_job(const std::vector<uint32_t>& starts) {
  g_av.init(starts, 0);
  g_process_groups = ProcessGroups();
  g_process_groups.set_own({500, 0});
  Model own{{500, 0}, 0, {}};
  for (size_t p = 0; p + 1 < starts.size(); ++p) own.counts.push_back(starts[p + 1] - starts[p]);
  return own;
}

TEST_F(ProcessGroupsTest, ComeAndGo) {
  std::mt19937 random(5);
  for (bool uniform : {true, false}) {
    std::vector<Model> models{
        own_job(uniform ? std::vector<uint32_t>{0, 4, 8, 12} : std::vector<uint32_t>{0, 1, 8, 12})};
    for (int step = 0; step < 400; ++step) {
      if (models.size() == 1 || (random() % 2 && models.size() < 9)) {
        Model m{{random(), random()}, 0, random_counts(random)};
        ASSERT_TRUE(g_process_groups.add(m.uid, m.counts, &m.pgid).ok());
        g_process_groups.retain(m.pgid);
        models.push_back(m);
      } else {
        const size_t i = 1 + random() % (models.size() - 1);
        g_process_groups.release(models[i].pgid);
        models.erase(models.begin() + static_cast<std::ptrdiff_t>(i));
      }
      compare(models);
      EXPECT_EQ(g_process_groups.others(), models.size() - 1);
    }
    while (models.size() > 1) {
      g_process_groups.release(models.back().pgid);
      models.pop_back();
    }
    EXPECT_EQ(g_av.all_processes(), 3u);
    EXPECT_EQ(g_av.all_ranks(), 12u);
    EXPECT_EQ(g_process_groups.count(), 1u);
  }
}

/// A job that was spawned as proclets, and the expected location of each of its ranks.
struct Spawned {
  GroupUid uid;
  uint32_t pgid = 0;
  std::vector<uint32_t> counts;
  std::vector<AddressVector::Host> hosts;
};

void compare_spawned(const Spawned& s) {
  ASSERT_TRUE(g_process_groups.hosted(s.pgid));
  ASSERT_EQ(g_process_groups.find_short_name(g_process_groups.short_name(s.pgid)), s.pgid);
  uint32_t lpid = 0;
  for (size_t k = 0; k < s.counts.size(); ++k)
    for (uint32_t i = 0; i < s.counts[k]; ++i, ++lpid) {
      const auto global = static_cast<uint32_t>(g_process_groups.global_of({s.pgid, lpid}));
      const Location at = g_av.locate(global);
      ASSERT_EQ(at.process, s.hosts[k].process);
      ASSERT_EQ(at.local, s.hosts[k].local + i);
      ASSERT_EQ(g_av.process_of(global), at.process);
      ASSERT_EQ(g_av.element_of(global), g_process_groups.first_process(s.pgid) + k);
      uint32_t local = 0;
      ASSERT_EQ(g_av.is_here(global, &local), at.process == g_av.me());
      if (at.process != g_av.me()) continue;
      ASSERT_EQ(local, at.local);
      ASSERT_EQ(g_av.global_of_local(local), global);
      ASSERT_LT(local, g_av.locals());
    }
}

// Jobs with processes of their own and jobs without are added and removed in random order.
TEST_F(ProcessGroupsTest, SpawnedRanksLiveInOwnProcesses) {
  std::mt19937 random(9);
  for (bool uniform : {true, false}) {
    own_job(uniform ? std::vector<uint32_t>{0, 4, 8, 12} : std::vector<uint32_t>{0, 4, 5, 12});
    std::vector<Spawned> spawned;
    std::vector<uint32_t> others;
    uint32_t next_local = 4;
    for (int step = 0; step < 400; ++step) {
      const unsigned what = random() % 4;
      if (what == 0 && spawned.size() < 6) {
        Spawned s{{random(), random()}, 0, {}, {}};
        for (uint32_t p = 0; p < 3; ++p)
          if (random() % 3 || (p == 2 && s.counts.empty())) {
            s.counts.push_back(1 + random() % 9);
            s.hosts.push_back({p, p == 0 ? next_local : 7 + 100 * p});
          }
        if (s.hosts[0].process == 0) next_local += s.counts[0];
        ASSERT_TRUE(g_process_groups.add_hosted(s.uid, s.counts, s.hosts, &s.pgid).ok());
        g_process_groups.retain(s.pgid);
        spawned.push_back(s);
      } else if (what == 1 && !spawned.empty()) {
        const size_t i = random() % spawned.size();
        g_process_groups.release(spawned[i].pgid);
        spawned.erase(spawned.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (what == 2 && others.size() < 4) {
        ASSERT_TRUE(g_process_groups
                        .add({random(), random()}, random_counts(random), &others.emplace_back())
                        .ok());
        g_process_groups.retain(others.back());
      } else if (what == 3 && !others.empty()) {
        g_process_groups.release(others.back());
        others.pop_back();
      }
      ASSERT_EQ(g_process_groups.others(), spawned.size() + others.size());
      for (const Spawned& s : spawned) compare_spawned(s);
      for (uint32_t w = 0; w < 12; ++w) {
        uint32_t local;
        ASSERT_EQ(g_av.is_here(w, &local), w < 4);
        ASSERT_EQ(g_av.element_of(w), g_av.process_of(w));
      }
      // Each rank is in one range of one process.
      std::vector<int> seen(g_av.all_ranks());
      for (uint32_t p = 0; p < 3; ++p)
        g_av.for_each_range_of(p, [&](uint32_t first, uint32_t past) {
          for (uint32_t w = first; w < past; ++w) {
            ++seen[w];
            ASSERT_EQ(g_av.process_of(w), p);
          }
        });
      for (uint32_t w = 0; w < 12; ++w) ASSERT_EQ(seen[w], 1);
    }
    for (const Spawned& s : spawned) g_process_groups.release(s.pgid);
    while (!others.empty()) g_process_groups.release(others.back()), others.pop_back();
    EXPECT_EQ(g_av.all_processes(), 3u);
    EXPECT_EQ(g_av.locals(), 4u);
    EXPECT_EQ(g_av.global_of_local(4), AddressVector::kNoRange);
  }
}

// A process of the job that hosts no rank of a spawned group learns of the group from a map. So
// does a process of another job, which also learns of the job that hosts the group.
TEST_F(ProcessGroupsTest, SpawnedRanksTravel) {
  own_job({0, 4, 8, 12});
  uint32_t pgid;
  const std::vector<uint32_t> counts{2, 3};
  ASSERT_TRUE(g_process_groups.add_hosted({7, 7}, counts, {{1, 40}, {2, 50}}, &pgid).ok());
  std::vector<int32_t> globals;
  for (uint32_t lpid : {4, 0, 3}) globals.push_back(g_process_groups.global_of({pgid, lpid}));
  globals.push_back(5);
  std::vector<uint8_t> bytes;
  write_travelling(merged_map_of(globals), &bytes);
  g_process_groups.remove_unused();
  ASSERT_EQ(g_process_groups.others(), 0u);
  RankMap map;
  ASSERT_TRUE(read_travelling(bytes, &map).ok());
  ASSERT_EQ(map.size(), 4);
  EXPECT_EQ(g_av.locate(static_cast<uint32_t>(map.world_of(0))).process, 2u);
  EXPECT_EQ(g_av.locate(static_cast<uint32_t>(map.world_of(0))).local, 52u);
  EXPECT_EQ(g_av.locate(static_cast<uint32_t>(map.world_of(1))).local, 40u);
  EXPECT_EQ(map.world_of(3), 5);
  map = RankMap();
  g_process_groups.remove_unused();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_travelling(std::span(bytes).first(length), &map).ok()) << length;
    g_process_groups.remove_unused();
  }
  const GroupUid host = g_process_groups.own();
  g_process_groups.set_own({8, 8});
  ASSERT_TRUE(read_travelling(bytes, &map).ok());
  ASSERT_EQ(g_process_groups.others(), 2u);
  const uint32_t of = g_process_groups.find(host), spawned = g_process_groups.find({7, 7});
  EXPECT_EQ(g_process_groups.host_of(spawned), of);
  EXPECT_FALSE(g_process_groups.hosted(of));
  const Location at = g_av.locate(static_cast<uint32_t>(map.world_of(0)));
  EXPECT_EQ(at.process, g_process_groups.first_process(of) + 2);
  EXPECT_EQ(at.local, 52u);
  uint32_t local;
  EXPECT_FALSE(g_av.is_here(static_cast<uint32_t>(map.world_of(0)), &local));
  EXPECT_EQ(g_process_groups.find_rank(map.world_of(3)), (GroupRank{of, 5}));
  // The map can travel on, with the same bytes.
  std::vector<uint8_t> again;
  write_travelling(map, &again);
  EXPECT_EQ(again, bytes);
  // The group of the hosts exists as long as the group that it hosts.
  g_process_groups.retain(spawned);
  g_process_groups.remove_unused();
  EXPECT_EQ(g_process_groups.others(), 2u);
  g_process_groups.release(spawned);
  EXPECT_EQ(g_process_groups.others(), 0u);
  EXPECT_EQ(g_av.all_processes(), 3u);
}

TEST_F(ProcessGroupsTest, ConstantSpaceHoweverManyComeAndGo) {
  own_job({0, 4, 8});
  const std::vector<uint32_t> counts{3, 3};
  uint32_t kept, pgid;
  for (uint64_t k = 0; k < 10000; ++k) {
    ASSERT_TRUE(g_process_groups.add({1, k}, counts, &pgid).ok());
    g_process_groups.retain(pgid);
    if (k > 0) g_process_groups.release(kept);
    kept = pgid;
    ASSERT_LE(g_av.all_processes(), 6u);
    ASSERT_LE(g_process_groups.count(), 3u);
  }
  g_process_groups.release(kept);
}

TEST_F(ProcessGroupsTest, WhatCannotBeIsRefused) {
  own_job({0, 4});
  uint32_t pgid;
  const std::vector<uint32_t> most{(1u << 31) - 6};
  EXPECT_FALSE(g_process_groups.add({500, 0}, std::vector<uint32_t>{1}, &pgid).ok());
  EXPECT_FALSE(g_process_groups.add({1, 0}, {}, &pgid).ok());
  EXPECT_FALSE(g_process_groups.add({1, 0}, std::vector<uint32_t>{2, 0}, &pgid).ok());
  ASSERT_TRUE(g_process_groups.add({1, 0}, most, &pgid).ok());
  EXPECT_FALSE(g_process_groups.add({1, 0}, std::vector<uint32_t>{1}, &pgid).ok());
  EXPECT_FALSE(g_process_groups.add({2, 0}, std::vector<uint32_t>{2}, &pgid).ok());
  g_process_groups.remove_unused();
  EXPECT_EQ(g_process_groups.others(), 0u);
}

/// Jobs number groups differently: a map that travels names the same ranks at both.
TEST_F(ProcessGroupsTest, MapsTravelBetweenJobs) {
  std::mt19937 random(23);
  const std::vector<Model> jobs{{{10, 0}, 0, {2, 5}}, {{4, 0}, 0, {3}}, {{7, 9}, 0, {1, 1, 6}}};
  auto be = [&](size_t own, const std::vector<size_t>& known) {
    std::vector<uint32_t> starts{0};
    for (uint32_t c : jobs[own].counts) starts.push_back(starts.back() + c);
    own_job(starts);
    g_process_groups.set_own(jobs[own].uid);
    uint32_t pgid;
    for (size_t k : known)
      ASSERT_TRUE(g_process_groups.add(jobs[k].uid, jobs[k].counts, &pgid).ok());
  };
  auto globals_of = [&](const std::vector<std::pair<size_t, uint32_t>>& members) {
    std::vector<int32_t> globals;
    for (auto [job, lpid] : members)
      globals.push_back(g_process_groups.global_of({g_process_groups.find(jobs[job].uid), lpid}));
    return globals;
  };
  for (int k = 0; k < 60; ++k) {
    std::vector<std::pair<size_t, uint32_t>> members;
    for (size_t job = 0; job < jobs.size(); ++job) {
      uint32_t ranks = 0;
      for (uint32_t c : jobs[job].counts) ranks += c;
      for (uint32_t r = 0; r < ranks; ++r)
        if (random() % 3) members.push_back({job, r});
    }
    if (k % 2) std::shuffle(members.begin(), members.end(), random);
    if (members.empty()) continue;
    be(0, {2, 1});
    for (uint32_t pgid = 0; pgid < 3; ++pgid)
      g_process_groups.set_card(pgid, 0,
                                "card of " + std::to_string(g_process_groups.uid(pgid).high));
    std::vector<uint8_t> wire;
    const bool own_only =
        std::all_of(members.begin(), members.end(), [](const auto& m) { return m.first == 0; });
    RankMap sent = map_of_globals(globals_of(members));
    const bool orders = g_process_groups.before(sent.world_of(0), sent.world_of(sent.size() - 1));
    const uint32_t name = g_process_groups.name_of(sent.world_of(0));
    sent.serialize(&wire, own_only);
    be(1, k % 3 ? std::vector<size_t>{0} : std::vector<size_t>{2});
    RankMap got;
    size_t used;
    for (size_t cut = 0; cut < wire.size(); cut += 7)
      EXPECT_FALSE(RankMap::deserialize({wire.data(), cut}, &used, &got).ok());
    ASSERT_TRUE(RankMap::deserialize(wire, &used, &got).ok());
    EXPECT_EQ(used, wire.size());
    EXPECT_EQ(got.encoded().expand(), globals_of(members));
    EXPECT_EQ(g_process_groups.before(got.world_of(0), got.world_of(got.size() - 1)), orders);
    EXPECT_EQ(g_process_groups.name_of(got.world_of(0)), name);
    const uint32_t first = g_process_groups.find(jobs[members[0].first].uid);
    if (std::find(members.begin(), members.end(),
                  std::pair<size_t, uint32_t>{members[0].first, 0}) != members.end()) {
      EXPECT_EQ(g_process_groups.card(first, 0),
                "card of " + std::to_string(jobs[members[0].first].uid.high));
    }
  }
}

TEST_F(ProcessGroupsTest, DamagedMapsAreRefusedOrRead) {
  std::mt19937 random(99);
  own_job({0, 4, 8});
  uint32_t pgid;
  ASSERT_TRUE(g_process_groups.add({1, 2}, std::vector<uint32_t>{2, 2}, &pgid).ok());
  const RankMap map = map_of_globals(std::vector<int32_t>{9, 0, 3, 11});
  std::vector<uint8_t> good;
  write_travelling(map, &good);
  for (int k = 0; k < 3000; ++k) {
    std::vector<uint8_t> bytes = good;
    bytes[random() % bytes.size()] = static_cast<uint8_t>(random() % 3 ? random() : random() % 4);
    RankMap got;
    Status status = read_travelling(bytes, &got);
    std::string why;
    if (status.ok()) {
      EXPECT_TRUE(got.validate(&why)) << why;
    }
    g_process_groups.retain(pgid);
    g_process_groups.remove_unused();
  }
}

}  // namespace
}  // namespace fgmpi
