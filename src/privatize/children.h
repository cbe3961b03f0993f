// Whose child a process is. Ranks of a process have their children in common, as the kernel knows
// them; but wait() of a rank does not take the end of another one's.
//
// Children that fork(), posix_spawn(), system() and popen() have made for a rank are in a table
// until somebody has waited for them. Others (of vfork, clone) are anybody's.
//
// system() and popen() are made of posix_spawn() here: the C library's wait for the child, and for
// a pipe, by functions that cannot be interposed.
//
// Thread rule: any thread.
#pragma once

#include <cstdio>

namespace fgmpi::privatize {

/// Closes a stream that popen() has made for a rank, and waits for its shell. False: it is none.
/// May switch.
bool close_pipe_stream(std::FILE* stream, int* status);

}  // namespace fgmpi::privatize
