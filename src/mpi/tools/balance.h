// FGMPI_BALANCE=on in a process: its part of the host's board (balance/board.h), when it is idle,
// and which of its ranks go to others.
//
// Thread rule: the scheduler's thread. Nothing here switches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proclet-sched/sched.h"

namespace fgmpi::mpi {

/// Among notices about ranks that move (moves.cc): the name of the board.
inline constexpr uint64_t kBoardNotice = 16;

/// Makes the host's board, or waits for its name as a notice. Called once, when processes are
/// connected and before ranks communicate.
void begin_balance(sched::Hooks* hooks);
/// A notice has come with the name of the board. Returns false where it is none.
bool open_board(const void* data, size_t bytes);
/// A rank leaves this process for another one.
void note_departure(uint32_t world_rank, uint32_t to);

/// One of this process's own ranks has come back.
void note_homecoming();
/// The process ends, and all others of the job have come as far: the first one of each host tells
/// what has moved, where that is wanted.
void tell_balance();

}  // namespace fgmpi::mpi
