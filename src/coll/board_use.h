// The use of boards (board.h) by collectives: which teams have one, how it is set up, and how a
// process waits for it.
//
// A communicator of three or more processes gets a board when these are all on one host and reach
// each other by shared memory: at the first sum of rounded numbers that a board serves, and at
// every sixteenth blocking collective, until the set-up has been agreed on. All processes then
// exchange where they run; the first of them makes the memory, the others map it, and all learn
// whether all could. Where one could not, and where a few processes share fewer processors, the
// communicator never gets a board, unless a setting names it (FGMPI_COLL_BARRIER=board and its
// like), which also sets it up at once. Nonblocking collectives, `mpiexec -ft` and `-explore` have
// no boards.
//
// Thread rule: one thread. Functions say whether they switch.
#pragma once

#include <memory>

#include "coll/board.h"
#include "coll/team.h"

namespace fgmpi::coll {

/// The most boards of a process: each is a mapping.
inline constexpr uint32_t kMostBoards = 256;

/// May the team's collectives use a board? `named`: a setting names it, so the number of processes
/// does not count. The answer is the same at all of them; no message is sent.
bool may_use_board(const Team& team, bool named);

/// Sets *board to the team's board, or to nullptr where it has none. `at_once`: it is set up by the
/// first collective. May switch. REQUIRES: may_use_board(), and the team's next collective can
/// be done by a board at every process.
Status board_of(const Team& team, bool at_once, std::shared_ptr<Board>* board);

/// Ends the use of a communicator's board, if it has one, because a collective has failed. Never
/// switches.
void close_board(const comm::SharedComm* shared);

/// One collective on a board.
class BoardRun {
 public:
  BoardRun(const Team& team, std::shared_ptr<Board> board)
      : team_(team),
        board_(std::move(board)),
        operation_{team.open().tag, static_cast<uint32_t>(team.open().signature)} {}

  Board& board() const { return *board_; }
  const BoardOperation& operation() const { return operation_; }
  const Team& team() const { return team_; }
  /// True: the collective has not been done, and is to be done by messages, as at every process.
  bool declined() const { return declined_; }

  /// Marks the collective as declined, and lets all others see that.
  void decline();
  /// Waits until is_here() or the board has been closed before the collective was decided (then the
  /// run is declined). Errors: that of a failed collective. May switch. `is_here`: a function of
  /// the board that only looks. `wakes_mates`: a process that sleeps here wakes its mates when it
  /// has been woken.
  Status wait(bool (*is_here)(Board* board), bool wakes_mates = false);
  /// Does the process with this team rank sleep? If so, the caller's stores so far are not yet
  /// known to it, and it is to be woken. Never switches.
  bool sleeps(uint32_t team_rank) const;
  /// Wakes it if it sleeps. Never switches.
  void wake(uint32_t team_rank) const;

 private:
  const Team& team_;
  std::shared_ptr<Board> board_;
  BoardOperation operation_;
  bool declined_ = false;
};

}  // namespace fgmpi::coll
