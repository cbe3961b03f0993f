// Time slices: a rank that computes, and has threads of its own, lets other ranks of its process
// run after a while.
//
// A rank's main may wait for one of its threads in a loop that calls nothing (`while (!done);`).
// Where that thread sends to another rank of the process, that rank has to run. Only here is a rank
// interrupted in its own code; elsewhere ranks change at calls. It is done only where nothing that
// is shared can be under way: all code on the rank's stack, from the interrupted instruction to its
// main, is of the rank's image, so no function of the C library or of this library has been begun.
// The walk along the stack uses the tables for exceptions; code without them is not interrupted.
//
// Cost: a signal in FGMPI_TIME_SLICE of the scheduler's thread's processor time, from the first
// thread on that a rank starts where MPI_THREAD_SERIALIZED or more is granted.
//
// begin_time_slices() is in privatize.h.
#pragma once

namespace fgmpi::privatize {

/// Calls main and exits with what it returns: what is above it on a rank's stack is the rank's
/// code.
[[noreturn]] void run_main(int (*main)(int, char**, char**), int argc, char** argv, char** envp);

}  // namespace fgmpi::privatize
