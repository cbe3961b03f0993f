// Boards: the tree, and collectives of processes that take turns at random in one process.

#include "coll/board.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <numeric>
#include <random>

namespace fgmpi::coll {
namespace {

/// Nobody sleeps.
struct AllAwake {
  static bool sleeps(uint32_t) { return false; }
  static void wake(uint32_t) {}
};

void expect_tree(const std::vector<BoardPlace>& places) {
  const BoardTree tree(places);
  const auto n = static_cast<uint32_t>(places.size());
  std::vector<uint32_t> sorted = tree.order;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
  ASSERT_LE(tree.groups.size(), 2 * n);
  uint32_t next = 0;
  for (uint32_t g = 0; g < tree.groups.size(); ++g) {
    const BoardGroup& group = tree.groups[g];
    if (g == tree.leaves) next = 0;
    EXPECT_EQ(group.first, next) << "members of a level are divided in order";
    next += group.size;
    EXPECT_GE(group.size, 1u);
    EXPECT_LE(group.size, BoardTree::kFan);
    if (g < tree.leaves) continue;
    for (uint32_t i = group.first; i < group.first + group.size; ++i)
      EXPECT_EQ(tree.groups[i].parent, g);
  }
  EXPECT_EQ(tree.groups.back().parent, BoardTree::kNone);
}

TEST(BoardTree, HasEachProcessAndEachGroupOnce) {
  for (uint32_t n = 1; n <= 260; ++n) {
    expect_tree(std::vector<BoardPlace>(n));
    std::vector<BoardPlace> places(n);
    for (uint32_t i = 0; i < n; ++i)
      places[i] = {static_cast<int32_t>(i % 2), static_cast<int32_t>(i % 6)};
    expect_tree(places);
    for (uint32_t i = 0; i < n; ++i) places[i].cache = static_cast<int32_t>(i);
    expect_tree(places);
  }
}

TEST(BoardTree, GroupsShareACache) {
  std::vector<BoardPlace> places(16);
  for (uint32_t i = 0; i < 16; ++i)
    places[i] = {static_cast<int32_t>(i % 2), static_cast<int32_t>(i % 4)};
  const BoardTree tree(places);
  ASSERT_EQ(tree.leaves, 4u);
  for (uint32_t g = 0; g < 4; ++g)
    for (uint32_t i = 1; i < 4; ++i)
      EXPECT_EQ(places[tree.order[g * 4 + i]].cache, places[tree.order[g * 4]].cache);
}

/// Processes of a board, each in the middle of a collective of a script that all of them follow.
class BoardProcesses {
 public:
  BoardProcesses(uint32_t count, uint64_t seed) : random_(seed) {
    memory_.reset(::operator new(Board::bytes(count), std::align_val_t(4096)));
    std::memset(memory_.get(), 0, Board::bytes(count));
    const std::vector<BoardPlace> places(count);
    for (uint32_t i = 0; i < count; ++i) processes_.emplace_back(memory_.get(), places, i);
  }

  /// Runs `steps` collectives; collective i is a broadcast from a root where root_of(i) is one.
  void run(uint32_t steps) {
    steps_ = steps;
    while (std::any_of(processes_.begin(), processes_.end(),
                       [&](const Process& p) { return p.step < steps; })) {
      Process& p = processes_[random_() % processes_.size()];
      if (p.step < steps_) advance(p);
    }
  }

 private:
  struct Process {
    Process(void* memory, const std::vector<BoardPlace>& places, uint32_t me)
        : board(memory, places, me) {}
    Board board;
    uint32_t step = 0;
    bool arrived = false;
  };
  struct Freed {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(4096)); }
  };

  uint32_t count() const { return static_cast<uint32_t>(processes_.size()); }
  static BoardOperation operation(uint32_t step) {
    return {static_cast<int32_t>(step * 128), step * 7};
  }
  static uint64_t value(uint32_t step, uint32_t process) { return step * 1000003ull + process; }

  void advance(Process& p) {
    if (p.step % 5 < 3 && count() > 1)
      advance_broadcast(p, p.step % count());
    else
      advance_sum(p);
  }

  void advance_broadcast(Process& p, uint32_t root) {
    uint64_t data = value(p.step, root);
    if (p.board.me() == root) {
      if (!p.board.has_slot()) return;
      ASSERT_TRUE(p.board.post(operation(p.step), root, reinterpret_cast<char*>(&data), sizeof data,
                               AllAwake{}));
    } else {
      if (!p.board.is_posted()) return;
      uint64_t got;
      std::memcpy(&got, p.board.posted(), sizeof got);
      ASSERT_EQ(got, data);
      ASSERT_EQ(p.board.posting_root(), root);
      ASSERT_EQ(p.board.posted_operation().signature, operation(p.step).signature);
      p.board.take(operation(p.step));
    }
    ++p.step;
  }

  void advance_sum(Process& p) {
    const size_t words = p.step % 2 ? 1 : 100;
    if (!p.arrived) {
      std::vector<uint64_t> mine(words, value(p.step, p.board.me()));
      std::memcpy(p.board.own_block(), mine.data(), words * 8);
      const auto fold = [&](uint32_t group) {
        auto* sum = reinterpret_cast<uint64_t*>(p.board.group_block(group));
        std::fill(sum, sum + words, 0);
        for (uint32_t i = 0; i < p.board.members(group); ++i)
          for (size_t w = 0; w < words; ++w)
            sum[w] += reinterpret_cast<uint64_t*>(p.board.member_block(group, i))[w];
        return true;
      };
      p.arrived = true;
      const BoardRole arrival = p.board.arrive(operation(p.step), fold);
      ASSERT_NE(arrival, BoardRole::kClosed);
      if (arrival == BoardRole::kLast) p.board.release(words * 8, AllAwake{});
    }
    if (!p.board.is_released()) return;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count(); ++i) expected += value(p.step, i);
    std::vector<uint64_t> sum(words);  // a copy: the board's line is not aligned for words
    std::memcpy(sum.data(), p.board.result(words * 8), words * 8);
    for (size_t w = 0; w < words; ++w) ASSERT_EQ(sum[w], expected);
    p.board.end_round(operation(p.step));
    p.arrived = false;
    ++p.step;
  }

  std::unique_ptr<void, Freed> memory_;
  std::deque<Process> processes_;
  std::mt19937_64 random_;
  uint32_t steps_ = 0;
};

TEST(Board, CollectivesInAnyOrderOfTurns) {
  for (uint32_t count : {1u, 2u, 3u, 4u, 5u, 8u, 16u, 17u, 33u})
    for (uint64_t seed = 0; seed < 3; ++seed) BoardProcesses(count, seed).run(900);
}

/// Two processes of a board of their own.
struct TwoProcesses {
  alignas(4096) char memory[64 << 10] = {};
  std::vector<BoardPlace> places{2};
  Board a{memory, places, 0}, b{memory, places, 1};
  TwoProcesses() { EXPECT_LE(Board::bytes(2), sizeof memory); }
};

bool folds(uint32_t) { return true; }

TEST(Board, ClosedBeforeAllHaveArrivedItDeclines) {
  auto both = std::make_unique<TwoProcesses>();
  const BoardOperation barrier{128, 1};
  EXPECT_EQ(both->a.arrive(barrier, folds), BoardRole::kNotLast);
  EXPECT_FALSE(both->a.is_declined(barrier));
  both->b.close();
  EXPECT_TRUE(both->a.is_declined(barrier));
  EXPECT_TRUE(both->a.is_closed());
  EXPECT_EQ(both->b.arrive(barrier, folds), BoardRole::kClosed);
  EXPECT_TRUE(both->a.is_declined(barrier)) << "an arrival after the end changes nothing";
}

TEST(Board, ClosedAfterAllHaveArrivedItIsDone) {
  auto both = std::make_unique<TwoProcesses>();
  const BoardOperation barrier{128, 1}, next{256, 1};
  EXPECT_EQ(both->a.arrive(barrier, folds), BoardRole::kNotLast);
  EXPECT_EQ(both->b.arrive(barrier, folds), BoardRole::kLast);
  both->b.close();
  EXPECT_FALSE(both->a.is_declined(barrier)) << "its release will come";
  both->b.release(0, AllAwake{});
  both->b.end_round(barrier);
  EXPECT_TRUE(both->a.is_released());
  both->a.end_round(barrier);
  EXPECT_EQ(both->a.arrive(next, folds), BoardRole::kClosed);
}

TEST(Board, MembersThatDisagreeCloseIt) {
  auto both = std::make_unique<TwoProcesses>();
  const BoardOperation eight{128, 8}, sixteen{128, 16};
  EXPECT_EQ(both->a.arrive(eight, folds), BoardRole::kNotLast);
  EXPECT_EQ(both->b.arrive(sixteen, folds), BoardRole::kClosed);
  EXPECT_TRUE(both->a.is_declined(eight));
}

TEST(Board, AFailedFoldClosesIt) {
  auto both = std::make_unique<TwoProcesses>();
  const BoardOperation sum{128, 8};
  EXPECT_EQ(both->a.arrive(sum, folds), BoardRole::kNotLast);
  EXPECT_EQ(both->b.arrive(sum, [](uint32_t) { return false; }), BoardRole::kClosed);
  EXPECT_TRUE(both->a.is_declined(sum));
}

TEST(Board, TwoRootsOfOneBroadcast) {
  auto both = std::make_unique<TwoProcesses>();
  const BoardOperation of_a{128, 1}, of_b{128, 2};
  EXPECT_TRUE(both->a.post(of_a, 0, "a", 1, AllAwake{}));
  EXPECT_FALSE(both->b.post(of_b, 1, "b", 1, AllAwake{}));
  EXPECT_TRUE(both->b.is_closed());
}

}  // namespace
}  // namespace fgmpi::coll
