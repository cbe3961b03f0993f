// Tests of tables with an entry for each rank: with ranks, helpers, ends of ranks, and callers that
// belong to no rank.
#include "comm/of_rank.h"

#include <gtest/gtest.h>

#include <string>

#include "comm/comm.h"

namespace fgmpi::comm {
namespace {

/// An entry whose destructor counts.
struct Entry {
  std::string text;
  int* gone = nullptr;
  Entry() = default;
  ~Entry() {
    if (gone) ++*gone;
  }
};

PlainMutex g_mutex;
OfRank<Entry>& plain() {
  static auto& table = *new OfRank<Entry>;
  return table;
}
OfRank<Entry>& locked() {
  static auto& table = *new OfRank<Entry>(&g_mutex);
  return table;
}

std::string g_seen[8];
int g_gone = 0;

void helper(void* index) {
  const Entry* own = plain().find_mine();
  g_seen[reinterpret_cast<intptr_t>(index)] = own ? own->text : "nothing";
}

void rank_main(void*) {
  sched::Proclet* p = sched::current();
  RankState state;
  state.local = p->index;
  p->rank_state = &state;
  EXPECT_EQ(rank_here(), p);
  EXPECT_EQ(plain().find_mine(), nullptr);
  const std::string text = "rank " + std::to_string(p->index);
  Entry& own = plain().mine();
  own.text = text;
  own.gone = &g_gone;
  {
    const std::lock_guard<PlainMutex> guard(g_mutex);
    locked().mine().text = text;
  }
  for (int i = 0; i < 3; ++i) {
    sched::yield();
    EXPECT_EQ(&plain().mine(), &own);
    EXPECT_EQ(own.text, text);
  }
  sched::spawn_helper(p, helper, reinterpret_cast<void*>(intptr_t{p->index}));
  for (int i = 0; i < 8; ++i) sched::yield();
  EXPECT_EQ(g_seen[p->index], text);
  if (p->index % 2) {
    forget_rank(p);
    EXPECT_EQ(plain().find_mine(), nullptr);
    const std::lock_guard<PlainMutex> guard(g_mutex);
    EXPECT_EQ(locked().find_mine(), nullptr);
  }
  sched::yield();
  if (p->index == 2) plain().drop_mine();
  p->rank_state = nullptr;
}

TEST(OfRank, EachRankHasItsOwnUntilItEnds) {
  EXPECT_EQ(rank_here(), nullptr);
  plain().mine().text = "nobody";
  sched::set_options({});
  ASSERT_TRUE(sched::create_ranks(6, rank_main, nullptr).ok());
  EXPECT_EQ(sched::run(), 0);
  EXPECT_EQ(g_gone, 4);  // forget_rank() has removed three, drop_mine() one
  std::string left;
  int count = 0;
  plain().for_each([&](const Entry& e) {
    ++count;
    left += e.text + ";";
  });
  EXPECT_EQ(count, 3) << left;
  EXPECT_NE(left.find("nobody;"), std::string::npos);
  EXPECT_NE(left.find("rank 0;"), std::string::npos);
  EXPECT_NE(left.find("rank 4;"), std::string::npos);
}

}  // namespace
}  // namespace fgmpi::comm
