// Boards (src/coll/board.h): sums, broadcasts, and the end of a board while a collective is under
// way.

#include "coll/board.h"

#include <gtest/gtest.h>

#include <deque>

#include "model.h"

namespace fgmpi::coll {
namespace {

/// Nobody sleeps.
struct AllAwake {
  static bool sleeps(uint32_t) { return false; }
  static void wake(uint32_t) {}
};

constexpr int kExecutions = 20'000;

/// A board with its processes. One group has them all.
struct BoardScenario : model::Scenario {
  alignas(64) char memory[64 << 10] = {};
  std::deque<Board> boards;

  explicit BoardScenario(uint32_t count) {
    const std::vector<BoardPlace> places(count);
    for (uint32_t i = 0; i < count; ++i) boards.emplace_back(memory, places, i);
    Board& board = boards.front();
    model::name(&board.groups()[0].word, "word");
    model::name(&board.groups()[0].release.woken, "woken");
    model::name(&board.groups()[0].release.round, "round");
    model::name(&board.groups()[0].release.closed, "closed");
    model::name(&board.header()->closed_at, "closed_at");
    model::name(&board.header()->closers, "closers");
    model::name(&board.slot()->number, "number");
  }
  static BoardOperation operation(int32_t round) { return {round * 256, 8}; }
};

/// Two sums, of a length that is released in line and of a longer one.
struct SumsOnBoard : BoardScenario {
  SumsOnBoard() : BoardScenario(3) {}
  void add(Board& board, int32_t round, size_t words) {
    auto* const mine = reinterpret_cast<uint64_t*>(board.own_block());
    for (size_t i = 0; i < words; ++i) mine[i] = board.me() + static_cast<uint64_t>(round);
    const BoardRole role = board.arrive(operation(round), [&](uint32_t group) {
      auto* const sum = reinterpret_cast<uint64_t*>(board.group_block(group));
      for (size_t i = 0; i < words; ++i) sum[i] = 0;
      for (uint32_t m = 0; m < board.members(group); ++m)
        for (size_t i = 0; i < words; ++i)
          sum[i] += reinterpret_cast<uint64_t*>(board.member_block(group, m))[i];
      return true;
    });
    if (role == BoardRole::kClosed) model::fail("closed");
    if (role == BoardRole::kLast) board.release(words * 8, AllAwake{});
    while (!board.is_released()) model::step();
    for (size_t i = 0; i < words; ++i)
      if (reinterpret_cast<const uint64_t*>(board.result(words * 8))[i] !=
          3 + 3 * static_cast<uint64_t>(round))
        model::fail("another sum");
    board.end_round(operation(round));
  }
  std::vector<std::function<void()>> threads() override {
    std::vector<std::function<void()>> all;
    for (Board& board : boards)
      all.push_back([this, &board] {
        add(board, 1, 1);
        add(board, 2, 8);
        add(board, 3, 1);
      });
    return all;
  }
};

TEST(ModelOfBoard, Sums) {
  EXPECT_EQ(model::judge([] { return std::make_unique<SumsOnBoard>(); }, kExecutions, {}), "");
}

/// A broadcast, a barrier, and a broadcast from another root.
struct BroadcastsOnBoard : BoardScenario {
  BroadcastsOnBoard() : BoardScenario(2) {}
  void broadcast(Board& board, int32_t round, uint32_t root) {
    uint64_t data = static_cast<uint64_t>(round);
    if (board.me() == root) {
      if (!board.post(operation(round), root, reinterpret_cast<char*>(&data), 8, AllAwake{}))
        model::fail("closed");
      return;
    }
    while (!board.is_posted()) model::step();
    if (*reinterpret_cast<const uint64_t*>(board.posted()) != data) model::fail("another value");
    board.take(operation(round));
  }
  std::vector<std::function<void()>> threads() override {
    std::vector<std::function<void()>> all;
    for (Board& board : boards)
      all.push_back([this, &board] {
        broadcast(board, 1, 0);
        broadcast(board, 2, 0);
        broadcast(board, 3, 1);
      });
    return all;
  }
};

TEST(ModelOfBoard, Broadcasts) {
  // A root begins only when it has read what was posted before; the slot's number passes that on.
  EXPECT_EQ(model::judge([] { return std::make_unique<BroadcastsOnBoard>(); }, kExecutions,
                         {"word change"}),
            "");
}

/// A barrier, while one process closes the board: all do it here, or all by messages.
struct ClosedBoard : BoardScenario {
  explicit ClosedBoard(bool closer_arrives) : BoardScenario(3), arrives(closer_arrives) {}
  bool arrives;
  uint64_t done[3] = {};  ///< a word each: the model tells words apart, not bytes
  void barrier(Board& board, bool closes) {
    BoardRole role = BoardRole::kNotLast;
    if (!closes || arrives) role = board.arrive(operation(1), [](uint32_t) { return true; });
    if (role == BoardRole::kLast) board.release(0, AllAwake{});
    if (closes) board.close();
    while (role != BoardRole::kClosed && !board.is_released() && !board.is_declined(operation(1)))
      model::step();
    done[board.me()] = role != BoardRole::kClosed && board.is_released();
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { barrier(boards[0], false); }, [this] { barrier(boards[1], false); },
            [this] { barrier(boards[2], true); }};
  }
  void check() override {
    if (done[0] != done[1] || done[0] != done[2]) model::fail("done by some processes only");
    if (!arrives && done[0]) model::fail("done without all");
  }
};

TEST(ModelOfBoard, TheEndOfABoardIsTheSameForAll) {
  for (bool arrives : {true, false})
    EXPECT_EQ(
        model::explore([=] { return std::make_unique<ClosedBoard>(arrives); }, kExecutions).failure,
        "");
  EXPECT_EQ(model::judge([] { return std::make_unique<ClosedBoard>(true); }, kExecutions,
                         {"word change", "round load", "round store"}),
            "");
}

}  // namespace
}  // namespace fgmpi::coll
