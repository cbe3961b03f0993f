// Standard output of ranks that share a process: each line is written whole, and prefixed with its
// rank if wanted.
//
// A stream of this file replaces stdout; write(1, ...) and std::cout lead to it too. Complete lines
// go to the process's output; an unfinished line waits in a buffer of its rank. The stream is
// flushed at each switch (one comparison when it is empty), so that all bytes in it are those of
// the rank that was running. FGMPI_PREPEND_RANK puts "[world rank] " before each line, of standard
// error too.
//
// An unfinished line may grow to 16 MiB, and those of all ranks to 256 MiB together. A longer one
// is written in several pieces, and text of other ranks may come between them. Between processes of
// a host, their proxy writes whole lines (src/launcher/hydra/hydra_output.h).
//
// Thread rule: the scheduler's thread; other threads' output passes through unassembled.
// Invariants: bytes of a rank keep their order; an unfinished line is printed at the latest when
// the process ends.
#pragma once

#include <stdio.h>

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// Replaces stdout (and stderr when lines are prefixed or ranks may redirect it). Called before
/// ranks run; does nothing for a single rank without prefixes.
void redirect_rank_output(uint32_t ranks);

/// True for the two streams that this file has replaced.
bool writes_of_ranks(const FILE* stream);
/// Sends the running rank's bytes to the stream directly to a file of its own from now on. The
/// callee owns `fd`. REQUIRES: writes_of_ranks(stream), a rank runs.
void send_to_file(FILE* stream, int fd);
/// Closes the files of the running rank, which ends.
void close_own_files();

/// Writes the running rank's unfinished lines into memory of its slot, to which *saved then leads
/// (null: there are none); frees what *saved has been before. Returns nullptr, or why the rank
/// cannot be saved.
const char* describe_output(void** saved);
/// Forgets the running rank's unfinished lines.
void drop_output();
/// From now on the lines of a visitor with this number (load/visitors.h) are written whole, too.
void make_room_for_output(uint32_t rank);
/// Gives those lines to a rank of this process.
void restore_output(int64_t rank, const void* saved);

extern FILE* g_stdout;  ///< our stream, or nullptr
void drain_stdout();
/// Called at a switch: passes the bytes in the stream on as those of the rank that was running.
inline void assign_output() {
  if (g_stdout && __builtin_expect(g_stdout->_IO_write_ptr != g_stdout->_IO_write_base, 0))
    drain_stdout();
}

/// Writes the complete lines. Called when the process is idle and when it ends; safe in a signal
/// handler.
void flush_output();
/// Writes all lines, unfinished ones too, in a crash. Safe in a signal handler.
void write_output_in_crash();
/// Writes all lines, unfinished ones too, when the process ends.
void finish_output();

}  // namespace fgmpi::privatize
