// Tests of the three algorithms of system-ranked groups, whose vertices a simulator drives: trees,
// ranks, numbers of messages, and transient memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "simulator.h"

namespace fgmpi::system_ranked {
namespace {

/// An algorithm and its variant.
struct Scheme {
  const char* name;
  Algorithm algorithm;
  Filler filler;
};
constexpr Scheme kSchemes[] = {
    {"centralized", Algorithm::kCentralized, Filler::kLeaf},
    {"shrink_and_balance, leaf fillers", Algorithm::kShrinkAndBalance, Filler::kLeaf},
    {"shrink_and_balance, child fillers", Algorithm::kShrinkAndBalance, Filler::kChild},
    {"rank_and_hash", Algorithm::kRankAndHash, Filler::kLeaf},
};

SplitOptions options_of(const Scheme& scheme, uint32_t k) {
  SplitOptions options;
  options.algorithm = scheme.algorithm;
  options.filler = scheme.filler;
  options.k = k;
  return options;
}

/// The vertices of the parent's tree, and the members that each enrols.
struct Case {
  uint32_t n = 0, k = 3;
  std::vector<std::vector<Enrolment>> mine;
};

Bid bid_of(Address i, std::mt19937& random) {
  return {{static_cast<uint32_t>(random() % 5), i, 2 + static_cast<uint32_t>(random() % 9)}, i + 5};
}

Case one_color(uint32_t n, uint32_t k, double f, uint32_t seed, uint32_t weights = 1) {
  Case c{n, k, {}};
  c.mine.resize(n);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (Address i = 0; i < n; ++i)
    if (uniform(random) < f)
      c.mine[i].push_back({7, 1 + static_cast<uint32_t>(random() % weights), bid_of(i, random)});
  return c;
}

uint32_t members_of(const Case& c) {
  uint32_t m = 0;
  for (const auto& mine : c.mine) m += !mine.empty();
  return m;
}

/// The number of vertices of the parent's tree, except the root, with a member at or below them.
uint32_t occupied_below(const Case& c) {
  std::vector<bool> occupied(c.n);
  uint32_t d = 0;
  for (Address i = c.n; i-- > 0;) {
    if (!c.mine[i].empty()) occupied[i] = true;
    if (!occupied[i] || i == 0) continue;
    occupied[parent_of(i, c.k)] = true;
    ++d;
  }
  return d;
}

void fill(Simulation* simulation, const Case& c) {
  for (Address i = 0; i < c.n; ++i) simulation->add(complete_tree(i, c.n, c.k), c.mine[i]);
}

struct Member {
  Address at;
  Enrolment enrolment;
  TreePosition place;
};

/// Checks that every member is in its color's tree once, that the tree has the least height, and
/// that the ranks are those that the vertices have.
void check_color(const std::vector<Member>& members, uint32_t k, const std::string& what) {
  SCOPED_TRACE(what);
  std::map<Address, const Member*> by_address;
  Bid best;
  uint32_t weight = 0;
  for (const Member& m : members) {
    by_address[m.at] = &m;
    if (m.enrolment.bid.before(best)) best = m.enrolment.bid;
    weight += m.enrolment.weight;
  }
  std::vector<const Member*> level;
  std::set<Address> seen;
  for (const Member& m : members)
    if (m.place.parent == kNobody) level.push_back(&m);
  ASSERT_EQ(level.size(), 1u) << "one root";
  uint32_t height = 0;
  std::vector<bool> taken(weight);
  for (; !level.empty(); ++height) {
    std::vector<const Member*> next;
    for (const Member* m : level) {
      ASSERT_TRUE(seen.insert(m->at).second);
      const TreePosition& p = m->place;
      ASSERT_LE(p.children.size(), k);
      ASSERT_EQ(p.vertices, members.size());
      ASSERT_EQ(p.size, static_cast<int32_t>(weight));
      ASSERT_EQ(p.id, best.id());
      ASSERT_EQ(p.depth, height);
      ASSERT_GE(p.first, 0);
      ASSERT_LE(p.first + static_cast<int32_t>(p.weight), p.size);
      for (uint32_t i = 0; i < p.weight; ++i) {
        ASSERT_FALSE(taken[static_cast<size_t>(p.first) + i]);
        taken[static_cast<size_t>(p.first) + i] = true;
      }
      for (size_t i = 0; i < p.children.size(); ++i) {
        ASSERT_TRUE(by_address.count(p.children[i]));
        const Member* child = by_address[p.children[i]];
        ASSERT_EQ(child->place.parent, m->at);
        if (p.number != kNobody) {
          ASSERT_EQ(child->place.number, p.number * k + 1 + i);
        } else {
          ASSERT_EQ(child->place.first, p.child_first[i]);
          ASSERT_EQ(child->place.end, i + 1 < p.children.size() ? p.child_first[i + 1] : p.end);
        }
        next.push_back(child);
      }
    }
    level.swap(next);
  }
  ASSERT_EQ(seen.size(), members.size()) << "every member is in the tree";
  ASSERT_EQ(height, balanced_height(members.size(), k))
      << "as shallow as a perfectly balanced tree";
}

void check(const Simulation& simulation, const Case& c, uint32_t k, const std::string& what) {
  std::map<uint32_t, std::vector<Member>> colors;
  for (Address i = 0; i < c.n; ++i)
    for (size_t e = 0; e < c.mine[i].size(); ++e)
      colors[c.mine[i][e].color].push_back({i, c.mine[i][e], simulation.places(i)[e]});
  for (const auto& [color, members] : colors)
    check_color(members, k, what + " color " + std::to_string(color));
}

std::string describe(const Scheme& scheme, const Case& c, double f, uint32_t seed) {
  return std::string(scheme.name) + " n " + std::to_string(c.n) + " k " + std::to_string(c.k) +
         " f " + std::to_string(f) + " seed " + std::to_string(seed);
}

TEST(SystemRanked, Equations) {
  for (uint32_t k : {2u, 3u, 4u, 8u, 64u}) {
    uint64_t below = 0;
    for (uint32_t h = 1; h < 5; ++h) {
      EXPECT_EQ(max_size(h, k), below * k + 1);
      below = max_size(h, k);
      EXPECT_EQ(balanced_height(below, k), h);
      EXPECT_EQ(balanced_height(below + 1, k), h + 1);
    }
    uint32_t n = 1000;
    for (uint32_t i = 1; i < n; ++i) EXPECT_EQ(depth_of(i, k), depth_of(parent_of(i, k), k) + 1);
    uint32_t children = 0;
    for (uint32_t i = 0; i < n; ++i) children += children_of(i, k, n);
    EXPECT_EQ(children, n - 1);
  }
}

TEST(SystemRanked, IntermediariesOfAGroupDiffer) {
  for (uint32_t n : {1u, 2u, 3u, 10u, 64u, 1000u, 1001u}) {
    Directory directory(n);
    for (uint32_t color : {0u, 1u, 77u}) {
      std::set<Address> used;
      for (uint32_t i = 0; i < n; ++i) used.insert(directory.intermediary(color, i));
      EXPECT_EQ(used.size(), n);
      EXPECT_LT(*used.rbegin(), n);
    }
  }
}

TEST(SystemRanked, TreesAreBalancedAndRanksComplete) {
  for (const Scheme& scheme : kSchemes)
    for (uint32_t n : {1u, 2u, 3u, 5u, 13u, 40u, 41u, 100u, 364u, 1000u})
      for (uint32_t k : {2u, 3u, 4u, 8u, 17u})
        for (double f : {0.0, 0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99, 1.0})
          for (uint32_t seed = 1; seed <= 4; ++seed) {
            Case c = one_color(n, k, f, seed * 1000 + n, seed == 4 ? 50 : 1);
            Simulation simulation(n, options_of(scheme, k));
            fill(&simulation, c);
            ASSERT_TRUE(simulation.run()) << describe(scheme, c, f, seed);
            check(simulation, c, k, describe(scheme, c, f, seed));
            if (HasFatalFailure()) return;
          }
}

/// Groups of which all members are below one vertex, are leaves, are in the left half, are on
/// alternating levels, ...
TEST(SystemRanked, UnevenGroups) {
  constexpr uint32_t n = 1093;
  using Rule = bool (*)(Address, uint32_t k);
  constexpr Rule kRules[] = {
      [](Address i, uint32_t) { return i >= n / 2; },
      [](Address i, uint32_t) { return i < n / 2; },
      [](Address i, uint32_t k) { return children_of(i, k, n) == 0; },
      [](Address i, uint32_t k) { return children_of(i, k, n) > 0; },
      [](Address i, uint32_t k) { return depth_of(i, k) % 2 == 0; },
      [](Address i, uint32_t k) { return depth_of(i, k) % 2 == 1; },
      [](Address i, uint32_t k) {
        while (i > k) i = parent_of(i, k);
        return i == 1;
      },
      [](Address i, uint32_t k) {
        while (i > k) i = parent_of(i, k);
        return i == k;
      },
      [](Address i, uint32_t k) {
        for (; i > 0; i = parent_of(i, k))
          if ((i - 1) % k != 0) return false;
        return true;  // a chain
      },
  };
  for (const Scheme& scheme : kSchemes)
    for (uint32_t k : {2u, 3u, 4u, 8u})
      for (size_t rule = 0; rule < std::size(kRules); ++rule) {
        Case c{n, k, {}};
        c.mine.resize(n);
        std::mt19937 random(3);
        for (Address i = 0; i < n; ++i)
          if (kRules[rule](i, k)) c.mine[i].push_back({0, 1, bid_of(i, random)});
        Simulation simulation(n, options_of(scheme, k));
        fill(&simulation, c);
        std::string what = describe(scheme, c, static_cast<double>(rule), 0);
        ASSERT_TRUE(simulation.run()) << what;
        check(simulation, c, k, what);
        if (HasFatalFailure()) return;
      }
}

TEST(SystemRanked, ColorsAtOnce) {
  for (const Scheme& scheme : kSchemes)
    for (uint32_t n : {1u, 10u, 300u})
      for (uint32_t k : {2u, 3u, 8u})
        for (uint32_t colors : {1u, 2u, 7u, n}) {
          Case c{n, k, {}};
          c.mine.resize(n);
          std::mt19937 random(n + k);
          for (Address i = 0; i < n; ++i) {
            std::set<uint32_t> chosen;
            for (uint32_t j = random() % 4; j > 0; --j) chosen.insert(random() % colors * 3);
            for (uint32_t color : chosen)
              c.mine[i].push_back(
                  {color, 1 + static_cast<uint32_t>(random() % 5), bid_of(i, random)});
          }
          Simulation simulation(n, options_of(scheme, k));
          fill(&simulation, c);
          std::string what = describe(scheme, c, colors, 0);
          ASSERT_TRUE(simulation.run()) << what;
          EXPECT_EQ(simulation.counts().messages[kUp], n - 1);
          check(simulation, c, k, what);
          if (HasFatalFailure()) return;
        }
}

/// A group of a group of a group: each is made over the tree of the one before, with another
/// branching factor. Intermediaries may be anywhere.
TEST(SystemRanked, Nested) {
  for (const Scheme& scheme : kSchemes) {
    constexpr uint32_t n = 700;
    Case c = one_color(n, 3, 0.8, 5);
    std::vector<ParentPlace> parents;
    for (Address i = 0; i < n; ++i) parents.push_back(complete_tree(i, n, 3));
    std::mt19937 random(9);
    for (uint32_t k : {3u, 8u, 2u, 4u}) {
      Simulation simulation(n, options_of(scheme, k));
      for (const ParentPlace& where : parents) simulation.add(where, c.mine[where.self]);
      ASSERT_TRUE(simulation.run());
      std::vector<Member> members;
      parents.clear();
      for (Address i = 0; i < n; ++i) {
        if (!simulation.has(i) || c.mine[i].empty()) continue;
        members.push_back({i, c.mine[i][0], simulation.places(i)[0]});
        ParentPlace where;
        where.self = i;
        where.parent = members.back().place.parent;
        where.depth = members.back().place.depth;
        where.children = members.back().place.children;
        parents.push_back(where);
      }
      std::set<Address> there;
      for (ParentPlace& where : parents) there.insert(where.self);
      check_color(members, k, scheme.name);
      if (HasFatalFailure()) return;
      for (Address i = 0; i < n; ++i)
        if (random() % 3 == 0) c.mine[i].clear();
      for (Address i = 0; i < n; ++i)
        if (!there.count(i)) c.mine[i].clear();
    }
  }
}

// ---- At the paper's size ------------------------------------------------------------------------

constexpr uint32_t kPaperN = 131072;

SimulationCounts run_paper(const Scheme& scheme, const Case& c) {
  Simulation simulation(c.n, options_of(scheme, c.k));
  fill(&simulation, c);
  EXPECT_TRUE(simulation.run());
  check(simulation, c, c.k, scheme.name);
  return simulation.counts();
}

TEST(SystemRanked, MessageCountsOfThePaper) {
  for (uint32_t seed : {1u}) {
    Case c = one_color(kPaperN, 3, 0.6, seed);
    uint64_t n = c.n, m = members_of(c), d = occupied_below(c);
    SimulationCounts central = run_paper(kSchemes[0], c);
    EXPECT_EQ(central.construction(), (n - 1) + (m - 1) + (c.mine[0].empty() ? 1 : 0));
    SimulationCounts hash = run_paper(kSchemes[3], c);
    EXPECT_EQ(hash.construction(), (n - 1) + d + 2 * m + (m - 1) + (m - 1 + 2) / 3);
    SimulationCounts shrink = run_paper(kSchemes[1], c);
    EXPECT_LE(shrink.construction(), 260000u);
    EXPECT_EQ(shrink.rank_pass(), 2 * (m - 1));
  }
}

TEST(SystemRanked, AGroupOfAllKeepsTheParentsTree) {
  for (uint32_t n : {1u, 2u, 5u, 40u, 121u, 1000u})
    for (uint32_t k : {2u, 3u, 8u}) {
      Case c = one_color(n, k, 2.0, n + k, 50);
      // A second color with members at all vertices but the last.
      std::mt19937 random(n);
      for (Address i = 0; i + 1 < n; ++i) c.mine[i].push_back({9, 2, bid_of(i, random)});
      SplitOptions options = options_of(kSchemes[3], k);
      options.kept_vertices = n;
      Simulation simulation(n, options);
      fill(&simulation, c);
      ASSERT_TRUE(simulation.run());
      check(simulation, c, k, "kept, n " + std::to_string(n) + " k " + std::to_string(k));
      for (Address i = 0; i < n; ++i) {
        const TreePosition& p = simulation.places(i)[0];
        EXPECT_EQ(p.parent, complete_tree(i, n, k).parent);
        EXPECT_EQ(p.children, complete_tree(i, n, k).children);
      }
      const SimulationCounts& counts = simulation.counts();
      EXPECT_EQ(counts.messages[kUp], n - 1);
      EXPECT_EQ(counts.messages[kRanks], n - 1);
      EXPECT_EQ(counts.messages[kRegister], n - 1) << "of the second color only";
    }
}

TEST(SystemRanked, SuppliersAtAVertex) {
  for (double f : {0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99}) {
    Case c = one_color(kPaperN, 3, f, 11);
    EXPECT_LE(run_paper(kSchemes[1], c).suppliers, 13u) << f;
  }
}

/// The most transient bytes and the longest message of a vertex, for some fractions of members.
struct Extent {
  size_t bytes = 0, longest = 0;
};
Extent extent_of(const Scheme& scheme, uint32_t n, uint32_t k) {
  Extent extent;
  for (double f : {0.1, 0.6, 1.0}) {
    Case c = one_color(n, k, f, 21);
    Simulation simulation(n, options_of(scheme, k), {}, true);
    fill(&simulation, c);
    EXPECT_TRUE(simulation.run());
    extent.bytes = std::max(extent.bytes, simulation.counts().most_bytes);
    extent.longest = std::max(extent.longest, simulation.counts().longest);
  }
  return extent;
}

/// The bounds are O(1) and O(log n), with the constants of this implementation: none grows with n.
TEST(SystemRanked, MemoryOfAVertex) {
  for (uint32_t k : {2u, 3u, 8u})
    for (uint32_t n : {1000u, 40000u}) {
      SCOPED_TRACE("k " + std::to_string(k) + " n " + std::to_string(n));
      size_t levels = balanced_height(n, k);
      Extent hash = extent_of(kSchemes[3], n, k);
      EXPECT_LE(hash.bytes, 512 + 32 * k);
      EXPECT_LE(hash.longest, 36 + 5 * k);
      Extent leaves = extent_of(kSchemes[1], n, k);
      EXPECT_LE(leaves.bytes, 768 + 8 * k * (levels + 20));
      EXPECT_LE(leaves.longest, 24 + 5 * k * (levels + 1));
      Extent children = extent_of(kSchemes[2], n, k);
      EXPECT_LE(children.bytes, 768 + 2 * 96 * (k + (k - 1) * levels));  // lists grow by doubling
      EXPECT_LE(children.longest, 24 + 12 * (k + (k - 1) * levels));
    }
}

}  // namespace
}  // namespace fgmpi::system_ranked
