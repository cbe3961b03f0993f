#include "check/collectives/parts.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace fgmpi::check {
namespace {

struct Caller {
  int world = 0;
};
using Table = DeclaredParts<Caller>;

/// A call with `senders` members, of which the first `receivers` are in this process: member i
/// sends data with the hash sent[i][j] to member j.
struct Model {
  Model(uint32_t senders, uint32_t receivers, uint64_t seed) : random(seed) {
    for (uint32_t i = 0; i < senders; ++i)
      for (uint32_t j = 0; j < receivers; ++j)
        sent[i].push_back(random.next() % 3 ? static_cast<uint32_t>(random.next()) : 0);
    for (uint32_t j = 0; j < receivers; ++j)
      for (uint32_t i = 0; i < senders; ++i) taken[j].push_back(sent[i][j]);
  }
  /// Gives the table the hashes of all members in a random order, those of a sender in pieces.
  /// Returns the pairs that the table finds.
  std::set<std::pair<int, int>> run(Table* table, const std::set<uint32_t>& unknown = {}) {
    std::set<std::pair<int, int>> named;
    auto note = [&](const Table::Found& found) {
      if (found) named.emplace(found->sender->world, found->receiver ? found->receiver->world : -1);
    };
    std::vector<std::pair<bool, uint32_t>> order;
    for (const auto& [i, row] : sent) order.emplace_back(true, i);
    for (const auto& [j, column] : taken) order.emplace_back(false, j);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
    for (const auto& [sends, member] : order) {
      EXPECT_FALSE(table->over());
      auto caller = [member = member] { return Caller{static_cast<int>(member)}; };
      const bool known = !unknown.contains(member);
      if (!sends) {
        note(table->take(member, taken[member], known, caller));
        continue;
      }
      const std::span<const uint32_t> row = sent[member];
      for (size_t first = 0; first < row.size(); first += 3)
        note(table->give(member, static_cast<uint32_t>(first),
                         row.subspan(first, std::min<size_t>(3, row.size() - first)), known,
                         caller));
    }
    EXPECT_TRUE(table->over());
    return named;
  }
  RandomSequence random;
  std::map<uint32_t, std::vector<uint32_t>> sent, taken;
};

TEST(DeclaredParts, EveryPairThatDiffersIsNamed) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Model model(8, 5, seed);
    Table table({Collective::kAlltoallv, 0, 8, 5});
    EXPECT_TRUE(model.run(&table).empty());
    table.reset();
    const auto from = static_cast<uint32_t>(model.random.next() % 8),
               to = static_cast<uint32_t>(model.random.next() % 5);
    model.taken[to][from] += 1 + static_cast<uint32_t>(model.random.next() % 1000);
    const std::set<std::pair<int, int>> wrong = {{static_cast<int>(from), static_cast<int>(to)}};
    EXPECT_EQ(model.run(&table), wrong) << seed;
    // If the hashes of the sender or receiver are unknown, the table finds nothing.
    table.reset();
    EXPECT_TRUE(model.run(&table, {from}).empty());
    table.reset();
    EXPECT_TRUE(model.run(&table, {to}).empty());
    table.reset();
    EXPECT_EQ(model.run(&table), wrong);
  }
}

TEST(DeclaredParts, AMemberThatDiffersFromAllIsNamedWithOthers) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Model model(6, 6, seed);
    for (uint32_t& hash : model.taken[2]) ++hash;
    Table table({Collective::kAlltoallw, 0, 6, 6});
    const auto named = model.run(&table);
    ASSERT_FALSE(named.empty());
    bool others = false;
    for (const auto& [from, to] : named) {
      EXPECT_EQ(to, 2);
      others = others || from != 2;
    }
    EXPECT_TRUE(others) << seed;
  }
}

TEST(DeclaredParts, OfTooManyPairsSendersAreNamed) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Model model(7, 4, seed);
    Table table({Collective::kAlltoallv, 0, 7, 4}, 20);
    EXPECT_TRUE(model.run(&table).empty());
    table.reset();
    // Two exchanged parts are found as a difference.
    model.sent[3][0] = 17, model.sent[3][1] = 18;
    model.taken[0][3] = 18, model.taken[1][3] = 17;
    EXPECT_EQ(model.run(&table), (std::set<std::pair<int, int>>{{3, -1}}));
  }
}

TEST(DeclaredParts, WhatDoesNotFitIsDropped) {
  Table table({Collective::kScatterv, 1, 1, 2});
  auto caller = [] { return Caller{4}; };
  const std::vector<uint32_t> one = {5}, two = {5, 6}, three = {5, 6, 7};
  EXPECT_FALSE(table.give(1, 0, two, true, caller));    // no such sender
  EXPECT_FALSE(table.give(0, 0, three, true, caller));  // more than there are receivers
  EXPECT_FALSE(table.give(0, 3, one, true, caller));
  EXPECT_FALSE(table.take(2, one, true, caller));
  EXPECT_FALSE(table.take(0, two, true, caller));
  EXPECT_FALSE(table.give(0, 0, two, true, caller));
  EXPECT_FALSE(table.give(0, 0, one, true, caller));  // given before
  EXPECT_FALSE(table.over());
  EXPECT_FALSE(table.take(0, one, true, [] { return Caller{0}; }));
  const auto found = table.take(1, one, true, [] { return Caller{1}; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sender->world, 4);
  EXPECT_EQ(found->receiver->world, 1);
  EXPECT_TRUE(table.over());
}

}  // namespace
}  // namespace fgmpi::check
