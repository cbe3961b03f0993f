// mpiexec -rewind FILE -goto EVENT: visits events of a run by commands, one a line, from standard
// input. fgmpi-gdb.py gives the same commands and attaches gdb to the process of each answer.
//
//   goto EVENT | goto last   to where this event begins
//   back [N], forward [N]    to the N-th event before or behind, of the same rank
//   rank RANK                to the last event of this rank up to here
//   events [RANK]            prints events up to here, at most 20
//   sender [N]               to where the message was sent that this event receives; the N-th one
//   here EVENT RANK          the debugger has run on by itself: in this rank, behind this event
//   find EVENT RANK N        the N-th event of the rank before this one; 0: none
//   before EVENT             the last event before it at which there is a snapshot
//   snapshots                their number and memory
//   quit                     as the end of the input
//
// Thread rule: one thread.
#pragma once

#include "launcher/mpiexec/rewound_run.h"

namespace fgmpi::launcher {

/// Goes to the event (0: the last one), then follows the commands. Returns the exit status.
int visit(RewoundRun* run, uint64_t event);

}  // namespace fgmpi::launcher
