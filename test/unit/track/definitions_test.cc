// Compares the unification of records with a naive model of the communicators that made them.
#include "track/definitions.h"

#include <gtest/gtest.h>

#include <random>

namespace fgmpi::track {
namespace {

/// A job that makes communicators of random members in random orders, and its ranks' records.
struct Model {
  explicit Model(int32_t ranks, uint32_t seed, bool context_keys)
      : records(static_cast<size_t>(ranks)),
        counters(records.size()),
        context(context_keys),
        random(seed) {
    std::vector<int32_t> world;
    for (int32_t r = 0; r < ranks; ++r) world.push_back(r);
    make(world, kNoComm);
    for (int32_t r = 0; r < ranks; ++r) make({r}, kNoComm);
  }
  /// Returns the number in `made`.
  size_t make(const std::vector<int32_t>& members, uint32_t call) {
    CommRecord c{};
    c.size = static_cast<int32_t>(members.size());
    c.call = static_cast<uint16_t>(call);
    c.parent = kNoComm;
    const auto definer = static_cast<uint32_t>(members[0]);
    if (members.size() == 1) {
      c.flags = kSelfLike | kKeyed;
    } else {
      c.flags = kKeyed;
      c.definer = context ? 1000 - definer : definer;
      c.counter = context ? static_cast<uint32_t>(random()) : counters[definer]++;
    }
    made.push_back(members);
    for (size_t i = 0; i < members.size(); ++i) {
      c.rank = static_cast<int32_t>(i);
      auto& list = records[static_cast<size_t>(members[i])];
      list.push_back(c);
      where.push_back({made.size() - 1, static_cast<size_t>(members[i]), list.size() - 1});
    }
    return made.size() - 1;
  }
  std::vector<RankRecords> views() {
    std::vector<RankRecords> out;
    for (auto& list : records) out.push_back({list, 0, 0});
    return out;
  }

  struct Where {
    size_t comm, rank, local;
  };
  std::vector<std::vector<int32_t>> made;
  std::vector<std::vector<CommRecord>> records;
  std::vector<uint32_t> counters;
  std::vector<Where> where;
  bool context;
  std::mt19937 random;
};

void check(Model& model) {
  std::vector<std::vector<uint32_t>> mapping;
  const auto views = model.views();
  const Definitions d = unify_records(views, model.context, &mapping);
  EXPECT_EQ(mapping[0][0], 0u) << "the world has number 0";
  EXPECT_EQ(d.groups[d.comms[0].group].kind, GlobalGroup::kWorld);
  std::vector<uint32_t> id_of(model.made.size(), kNoComm);
  for (const auto& w : model.where) {
    const uint32_t id = mapping[w.rank][w.local];
    ASSERT_LT(id, d.comms.size());
    if (model.made[w.comm].size() > 1) {
      if (id_of[w.comm] == kNoComm) id_of[w.comm] = id;
      ASSERT_EQ(id_of[w.comm], id) << "members disagree";
    } else {
      EXPECT_GE(id, d.several + d.inter) << "self-like ones are last";
    }
  }
  size_t several = 0;
  for (size_t i = 0; i < model.made.size(); ++i) {
    if (model.made[i].size() < 2) continue;
    ++several;
    const GlobalGroup& g = d.groups[d.comms[id_of[i]].group];
    ASSERT_EQ(g.size(), static_cast<int32_t>(model.made[i].size()));
    for (int32_t r = 0; r < g.size(); ++r)
      ASSERT_EQ(g.world_of(r), model.made[i][static_cast<size_t>(r)]);
    for (size_t j = 0; j < i; ++j)
      if (model.made[j].size() > 1) {
        EXPECT_NE(id_of[i], id_of[j]);
        EXPECT_EQ(model.made[i] == model.made[j],
                  d.comms[id_of[i]].group == d.comms[id_of[j]].group)
            << "each group once";
      }
  }
  EXPECT_EQ(several, d.several);

  std::vector<uint8_t> bytes;
  d.write(&bytes);
  Definitions again;
  std::string reason;
  ASSERT_TRUE(again.read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, &reason))
      << reason;
  EXPECT_TRUE(same_definitions(d, again, &reason)) << reason;
  for (size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 50) {
    Definitions damaged;
    EXPECT_FALSE(damaged.read({reinterpret_cast<const char*>(bytes.data()), cut}, &reason)) << cut;
  }
}

void random_job(bool context_keys) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Model model(2 + static_cast<int32_t>(seed) * 3, seed, context_keys);
    const auto n = model.records.size();
    for (int i = 0; i < 40; ++i) {
      std::vector<int32_t> members = model.made[0];
      std::shuffle(members.begin(), members.end(), model.random);
      if (model.random() % 3) std::sort(members.begin(), members.end());
      if (model.random() % 2) members.resize(1 + model.random() % n);
      model.make(members, static_cast<uint32_t>(i));
      if (model.random() % 3 == 0) model.make(members, static_cast<uint32_t>(i));  // a duplicate
    }
    check(model);
  }
}

TEST(Unify, BroadcastKeys) { random_job(false); }
TEST(Unify, ContextKeys) { random_job(true); }

TEST(Unify, AnAbortedJobLeavesHoles) {
  Model model(4, 1, false);
  model.make({1, 3, 2}, 0);
  model.records[3].clear();  // the file of rank 3 is lost
  std::vector<std::vector<uint32_t>> mapping;
  const auto views = model.views();
  const Definitions d = unify_records(views, false, &mapping);
  ASSERT_EQ(d.several, 2u);
  const GlobalGroup& g = d.groups[d.comms[1].group];
  EXPECT_EQ(g.partial, (std::vector<int32_t>{1, -1, 2}));
  EXPECT_EQ(mapping[1].back(), 1u);
  EXPECT_EQ(mapping[2].back(), 1u);
}

// Two groups of one intercommunicator: both ranks 0 have reserved a number, and the number of the
// one with the lower world rank is used.
TEST(Unify, Intercommunicators) {
  for (const bool context : {false, true}) {
    Model model(5, 1, context);
    // Rank 0 of the second group has the lower world rank, so its number is used.
    const std::vector<int32_t> sides[2] = {{4, 2, 0}, {1, 3}};
    for (int side = 0; side < 2; ++side)
      for (size_t i = 0; i < sides[side].size(); ++i) {
        CommRecord c{};
        // By a broadcast, each group has the other's candidate; each is the first number of its
        // rank 0.
        c.definer = context ? 77 : static_cast<uint32_t>(sides[1 - side][0]);
        c.counter = context ? 5 : 0;
        c.rank = static_cast<int32_t>(i);
        c.size = static_cast<int32_t>(sides[side].size());
        c.remote_size = static_cast<int32_t>(sides[1 - side].size());
        c.flags = kInter | kKeyed | (side == 0 && context ? kSideB : 0);
        c.parent = kNoComm;
        model.records[static_cast<size_t>(sides[side][i])].push_back(c);
      }
    std::vector<std::vector<uint32_t>> mapping;
    const auto views = model.views();
    const Definitions d = unify_records(views, context, &mapping);
    ASSERT_EQ(d.several, 1u);
    ASSERT_EQ(d.inter, 1u);
    EXPECT_EQ(d.comms.size(), 3u);  // one of them stands for all communicators of one rank
    const GlobalComm& c = d.comms[1];
    EXPECT_TRUE(c.inter);
    for (int32_t i = 0; i < 2; ++i)
      EXPECT_EQ(d.groups[c.group].world_of(i), sides[1][static_cast<size_t>(i)]);
    for (int32_t i = 0; i < 3; ++i)
      EXPECT_EQ(d.groups[c.remote].world_of(i), sides[0][static_cast<size_t>(i)]);
    for (const auto& table : mapping) EXPECT_EQ(table.back(), 1u);
    EXPECT_TRUE(model.records[2].back().flags & kSideB);
    EXPECT_FALSE(model.records[3].back().flags & kSideB);
  }
}

// An intercommunicator between two jobs with the same world ranks: keys contain the job.
TEST(Unify, TwoJobs) {
  std::vector<std::vector<CommRecord>> records(5);
  const auto add = [&](size_t place, uint32_t job, int32_t rank, int32_t size, uint16_t flags,
                       uint32_t definer) {
    CommRecord c{};
    c.definer = definer;
    c.job = job;
    c.rank = rank;
    c.size = size;
    c.flags = flags | kKeyed;
    c.parent = kNoComm;
    records[place].push_back(c);
  };
  // The first three ranks are the first job's world.
  for (int32_t r = 0; r < 3; ++r) add(static_cast<size_t>(r), 100, r, 3, 0, 0);
  for (int32_t r = 0; r < 2; ++r) add(static_cast<size_t>(3 + r), 200, r, 2, 0, 0);
  for (int32_t r = 0; r < 3; ++r) add(static_cast<size_t>(r), 200, r, 3, kInter, 0);
  for (int32_t r = 0; r < 2; ++r) add(static_cast<size_t>(3 + r), 100, r, 2, kInter, 0);
  std::vector<RankRecords> views;
  for (size_t i = 0; i < 5; ++i) views.push_back({records[i], i < 3 ? 100u : 200u, i < 3 ? 0 : 3});
  std::vector<std::vector<uint32_t>> mapping;
  const Definitions d = unify_records(views, false, &mapping);
  ASSERT_EQ(d.several, 2u);
  ASSERT_EQ(d.inter, 1u);
  EXPECT_EQ(mapping[0], (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(mapping[4], (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(d.groups[d.comms[2].group].world_of(2), 2);
  EXPECT_EQ(d.groups[d.comms[2].remote].world_of(1), 4);
}

}  // namespace
}  // namespace fgmpi::track
