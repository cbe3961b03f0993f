// Late ranks: ranks of a program that is not linked with MPI, for which mpiexec has preloaded this
// library (LD_PRELOAD).
//
// This program may load MPI while it runs, as an interpreter does, or be a shell that only
// executes another program. Its first call of MPI shows which one it is. So the first rank of the
// process runs alone; its first MPI_Init or session lets the others begin, each running main from
// the start. If it ends, or executes another program, before that call, the others never run.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>
#include <string>

#include "privatize/privatize.h"

namespace fgmpi::privatize {

/// True where the process's program is linked with MPI, directly or through libraries. Called
/// before ranks run.
bool is_linked_with_mpi();

/// Makes all ranks of this process but the first late. Called before ranks run.
void start_late();
/// Makes this a process of one rank: `why` is the reason, for the error when the others should
/// begin. Called before ranks run.
void refuse_late_ranks(std::string why);
/// True once the late ranks have begun, and in any process that has none.
bool have_late_ranks_begun();
/// Each late rank calls this before all else. Returns false where the rank never begins. May
/// switch.
bool wait_to_begin();

}  // namespace fgmpi::privatize
