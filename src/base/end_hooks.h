// What a process does when it ends itself: by end_process(), a failed check or a crash report.
//
// The functions come from layers above (src/proclet-sched, src/liveness, src/mpi), which this layer
// does not use. Without them nothing is done. Thread rule: set by one thread at the start; called
// by the thread that ends the process.
#pragma once

#include <cstddef>

namespace fgmpi {

/// `announce` informs the other processes of the job, which might otherwise wait for this one for
/// ever. Only end_process() calls it, once: the function may itself end the process.
void set_end_announcer(void (*announce)(int status));
void announce_end(int status);

/// `describe` writes a few words about who runs, for the report of an internal error. It neither
/// allocates nor locks.
void set_describe_caller(void (*describe)(char* words, size_t size));
/// Writes "" where no function has been set.
void describe_caller(char* words, size_t size);

/// `leave` marks this process as one whose end needs no report by others: the end is in order, or
/// its reason has been reported. The function is async-signal-safe.
void set_leave_end_mark(void (*leave)());
void leave_end_mark();

}  // namespace fgmpi
