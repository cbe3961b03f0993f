// Which rank a child process belongs to. To the kernel, the ranks of a process have their children
// in common; here, wait() of one rank does not return the end of another rank's child.
//
// A table lists the children that fork(), posix_spawn(), system() and popen() have made for a rank,
// until a call has waited for them. Any rank may wait for other children (those of vfork and
// clone).
//
// This folder implements system() and popen() by posix_spawn(), because the C library's versions
// wait for the child, and for a pipe, by functions that cannot be interposed.
//
// Thread rule: any thread.
#pragma once

#include <cstdio>

#include "proclet-sched/sched.h"

namespace fgmpi::privatize {

/// Has the running rank a child that runs, or for which nobody has waited? Also where its process
/// has one that is in no table. Thread rule: the scheduler's thread.
bool rank_has_children();
/// Has the running rank a child that runs, or for which nobody has waited? Also where its process
/// has one that is in no table. Thread rule: the scheduler's thread.
bool rank_has_children();
/// Closes a stream that popen() has made for a rank, and waits for its shell. Returns false for any
/// other stream. May switch.
bool close_pipe_stream(std::FILE* stream, int* status);
/// Has the rank a child for which it has not waited yet?
bool has_children(const sched::Proclet* rank);
/// Called for streams of a rank that ends without pclose().
void forget_pipe_stream(std::FILE* stream);

}  // namespace fgmpi::privatize
