// Standard output of ranks that share a process: each line whole, and prefixed with its rank if
// wanted.
//
// stdout becomes a stream of ours whose bytes come to one place, as do write(1, ...) and std::cout.
// There complete lines go to the process's output; the unfinished one waits with its rank. At a
// switch the stream is emptied (one comparison when there is nothing in it), so that bytes are
// known to be the leaver's. FGMPI_PREPEND_RANK puts "[world rank] " before each line, of standard
// error too.
//
// Thread rule: the scheduler's thread; other threads' output passes through unassembled.
// Invariants: bytes of a rank keep their order; an unfinished line is printed at the latest when
// the process ends.
#pragma once

#include <stdio.h>

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// Takes over stdout (and stderr when lines are prefixed or ranks may redirect it). Called before
/// ranks run; does nothing for a single rank without prefixes.
void take_over_output(uint32_t ranks);

/// Is it a stream whose bytes come here?
bool writes_of_ranks(const FILE* stream);
/// From now on the running rank's bytes to the stream go to a file of its own, unassembled.
/// REQUIRES: writes_of_ranks(stream), a rank runs. Takes the descriptor.
void send_to_file(FILE* stream, int fd);
/// The running rank ends: closes its files.
void leave_output();

extern FILE* g_stdout;  ///< our stream, or nullptr
void drain_stdout();
/// At a switch: what is in the stream belongs to who leaves.
inline void settle_output() {
  if (g_stdout && __builtin_expect(g_stdout->_IO_write_ptr != g_stdout->_IO_write_base, 0))
    drain_stdout();
}

/// Writes what is complete. For the idle process and ends of all kinds; safe in a signal handler.
void flush_output();
/// In a crash: what the running rank printed since the last switch, as it is.
void write_unsettled_output();
/// The process ends: unfinished lines too.
void finish_output();

}  // namespace fgmpi::privatize
