// What a process does when it ends on its own account: by end_process(), a failed check or a crash
// report.
//
// The functions come from layers above (src/proclet-sched, src/liveness, src/mpi), which this one
// does not know. Without them nothing is done. Thread rule: set by one thread at the start; called
// by whichever ends the process.
#pragma once

#include <cstddef>

namespace fgmpi {

/// `tell` lets the other processes of the job know, which might wait for this one for ever. Called
/// by end_process() alone, once: it may come to an end itself.
void set_tell_others_of_end(void (*tell)(int status));
void tell_others_of_end(int status);

/// `describe` writes a few words about who runs, for the report of an internal error. It neither
/// allocates nor locks.
void set_describe_caller(void (*describe)(char* words, size_t size));
/// Without the function above: "".
void describe_caller(char* words, size_t size);

/// `leave` marks this process as one whose end needs no report by others: it is in order, or its
/// reason has been said. It is async-signal-safe.
void set_leave_end_mark(void (*leave)());
void leave_end_mark();

}  // namespace fgmpi
