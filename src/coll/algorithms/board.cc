// Barrier, broadcast and allreduce on the board of a communicator whose processes are on one host
// (coll/board.h). Each process waits at most once, for one word; no message is sent. For few bytes.
#include "coll/algorithms.h"
#include "coll/board_use.h"

namespace fgmpi::coll {
namespace {

/// Arrives, waits for the release, and returns; `length`: bytes of the result. fold(group) folds
/// the blocks of a complete group.
template <class Fold>
Status meet_on_board(BoardRun& run, size_t length, Fold&& fold) {
  Board& board = run.board();
  switch (board.arrive(run.operation(), fold)) {
    case BoardRole::kLast:
      board.release(length, run);
      return {};
    case BoardRole::kNotLast:
      return run.wait([](Board* b) { return b->is_released(); }, true);
    case BoardRole::kClosed:
      run.decline();
  }
  return {};
}

/// Folds the blocks of a group's members, in order, into the group's block.
bool fold_group(Board& board, uint32_t group, const Reduction& r) {
  const uint32_t last = board.members(group) - 1;
  char* const sum = board.group_block(group);
  std::memcpy(sum, board.member_block(group, last), r.bytes());
  for (uint32_t i = last; i > 0; --i)
    if (!combine(r, board.member_block(group, i - 1), sum, r.count).ok()) return false;
  return true;
}

}  // namespace

Status barrier_board(const Team&, BoardRun& run) {
  FGMPI_TRY(meet_on_board(run, 0, [](uint32_t) { return true; }));
  if (!run.declined()) run.board().end_round(run.operation());
  return {};
}

Status allreduce_board(const Team&, BoardRun& run, const Reduction& r, char* data) {
  Board& board = run.board();
  if (r.bytes()) std::memcpy(board.own_block(), data, r.bytes());
  FGMPI_TRY(
      meet_on_board(run, r.bytes(), [&](uint32_t group) { return fold_group(board, group, r); }));
  if (run.declined()) return {};
  if (r.bytes()) std::memcpy(data, board.result(r.bytes()), r.bytes());
  board.end_round(run.operation());
  return {};
}

Status bcast_board(const Team& team, BoardRun& run, uint32_t root, char* data, size_t bytes) {
  Board& board = run.board();
  if (team.me() == root) {
    FGMPI_TRY(run.wait([](Board* b) { return b->has_slot(); }));
    if (!run.declined() && !board.post(run.operation(), root, data, bytes, run)) run.decline();
    return {};
  }
  FGMPI_TRY(run.wait([](Board* b) { return b->is_posted(); }));
  if (run.declined()) return {};
  const BoardOperation posted = board.posted_operation();
  if (__builtin_expect(
          posted.tag != run.operation().tag || posted.signature != run.operation().signature, 0)) {
    // The root has given something else, and gone on: this collective fails here, or the members
    // are in different ones, and wait.
    compare_signature(team.open().ctx, posted.tag, static_cast<pt2pt::Signature>(posted.signature),
                      team.process(board.posting_root()));
    return run.wait([](Board*) { return false; });
  }
  if (bytes) std::memcpy(data, board.posted(), bytes);
  if (const uint32_t waiting = board.take(run.operation()); waiting != Board::kNobody)
    run.wake(waiting);
  return {};
}

}  // namespace fgmpi::coll
