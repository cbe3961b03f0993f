// Time slices: a rank that computes, and has threads of its own, lets other ranks of its process
// run after a while.
//
// A rank's main may wait for one of its threads in a loop that calls nothing (`while (!done);`).
// Where that thread sends to another rank of the process, that other rank has to run. Only this
// file interrupts a rank in its own code; elsewhere ranks change at calls. It does so only where no
// operation on shared state can be under way: all code on the rank's stack, from the interrupted
// instruction to its main, is of the rank's image, so no function of the C library or of this
// library has been begun. The walk along the stack uses the tables for exceptions; code without
// them is not interrupted.
//
// Cost: one signal in each FGMPI_TIME_SLICE of processor time of the scheduler's thread, once a
// rank that was granted MPI_THREAD_SERIALIZED or more has started a thread.
//
// begin_time_slices() is in privatize.h.
#pragma once

namespace fgmpi::privatize {

/// Calls main and exits with its result. The frames above this function's on a rank's stack are the
/// rank's own code.
[[noreturn]] void run_main(int (*main)(int, char**, char**), int argc, char** argv, char** envp);

}  // namespace fgmpi::privatize
