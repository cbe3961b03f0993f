// Late ranks: of a program that is not linked with MPI, before which mpiexec has put this library
// (LD_PRELOAD).
//
// Such a program may load MPI while it runs, as an interpreter does, or be a shell or another
// program that only executes the program. Which it is shows when it calls MPI. So the first rank of
// the process runs alone; its first MPI_Init or session lets the others begin, each with a main of
// its own from the start. Where it ends, or executes another program, without that, they never run.
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstdint>
#include <string>

#include "privatize/privatize.h"

namespace fgmpi::privatize {

/// Was the process started with a program that is not linked with MPI, directly or through others?
/// Before ranks run.
bool is_linked_with_mpi();

/// The ranks of this process but the first are late. Before ranks run.
void start_late();
/// There is one rank only: the text says why others cannot be had. Before ranks run.
void refuse_late_ranks(std::string why);
/// Do others than the first rank exist, or may they? True in any other process.
bool late_ranks_have_begun();
/// What a rank but the first does before all else. False: it never begins. May switch.
bool wait_to_begin();

}  // namespace fgmpi::privatize
