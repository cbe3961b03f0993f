// Transfers of cache lines on the critical path of collectives on a board (src/coll/board.h), by
// the simulation of board_lines.h, which runs the board's own code. Run: bin/board_path
// [PROCESSES...]
//
// One line a number of processes: from when all begin at the same time to when the last has ended,
// and from when the last begins, long after the others. Barrier, allreduce and broadcast of 8
// bytes, each after three more of its kind, with all processes in one cache.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "board_lines.h"
#include "coll/board.h"

namespace fgmpi::coll {
namespace {

/// Nobody sleeps.
struct AllAwake {
  static bool sleeps(uint32_t) { return false; }
  static void wake(uint32_t) {}
};

void finish(Board& board, const BoardOperation& operation) {
  while (!board.is_released()) lines::wait();
  board.end_round(operation);
}

void barrier(Board& board, const BoardOperation& operation) {
  const BoardRole role = board.arrive(operation, [](uint32_t) { return true; });
  if (role == BoardRole::kLast) board.release(0, AllAwake{});
  finish(board, operation);
}

void allreduce(Board& board, const BoardOperation& operation) {
  uint64_t mine = board.me();
  std::memcpy(board.own_block(), &mine, sizeof mine);
  const BoardRole role = board.arrive(operation, [&](uint32_t group) {
    // The loads do not depend on each other: a processor has all of them under way at once.
    lines::at_once([&] {
      uint64_t sum = 0;
      for (uint32_t i = 0; i < board.members(group); ++i)
        sum += *reinterpret_cast<uint64_t*>(board.member_block(group, i));
      *reinterpret_cast<uint64_t*>(board.group_block(group)) = sum;
    });
    return true;
  });
  if (role == BoardRole::kLast) board.release(sizeof mine, AllAwake{});
  while (!board.is_released()) lines::wait();
  std::memcpy(&mine, board.result(sizeof mine), sizeof mine);
  const uint64_t n = board.count();
  if (mine != n * (n - 1) / 2) std::abort();
  board.end_round(operation);
}

void broadcast(Board& board, const BoardOperation& operation) {
  uint64_t data = 42;
  if (board.me() == 0) {
    while (!board.has_slot()) lines::wait();
    if (!board.post(operation, 0, reinterpret_cast<char*>(&data), sizeof data, AllAwake{}))
      std::abort();
    return;
  }
  while (!board.is_posted()) lines::wait();
  std::memcpy(&data, board.posted(), sizeof data);
  if (data != 42) std::abort();
  board.take(operation);
}

/// Transfers from `late` on, the time at which process `last` begins.
double measure(uint32_t processes, void (*collective)(Board&, const BoardOperation&), double late,
               uint32_t last) {
  const size_t bytes = Board::bytes(processes);
  char* const memory = static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) & -size_t{4096}));
  std::memset(memory, 0, bytes);
  std::deque<Board> boards;
  const std::vector<BoardPlace> places(processes);
  for (uint32_t i = 0; i < processes; ++i) boards.emplace_back(memory, places, i);
  lines::forget();
  double end = 0;
  for (int32_t turn = 1; turn <= 4; ++turn) {
    const BoardOperation operation{turn * 256, 1};
    end = lines::run(
        processes, memory, bytes, [&](uint32_t i) { return i == last ? late : 0.; },
        [&](uint32_t i) { collective(boards[i], operation); });
  }
  std::free(memory);
  return end - late;
}

}  // namespace
}  // namespace fgmpi::coll

int main(int argc, char** argv) {
  using namespace fgmpi::coll;
  std::vector<uint32_t> counts = {2, 4, 8, 16, 32, 64};
  if (argc > 1) counts.clear();
  for (int i = 1; i < argc; ++i) counts.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  std::printf("transfers of cache lines: all at once (the last one much later)\n");
  std::printf("%9s %14s %14s %14s\n", "processes", "barrier", "allreduce 8 B", "bcast 8 B");
  for (uint32_t n : counts) {
    std::printf("%9u", n);
    for (auto* collective : {barrier, allreduce, broadcast})
      std::printf("   %5.0f (%3.0f)", measure(n, collective, 0, 0),
                  measure(n, collective, 1000, collective == broadcast ? 0 : n - 1));
    std::printf("\n");
  }
}
