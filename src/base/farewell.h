// A mark that a process sets when it ends on its own account and has said why: others that see it end then add nothing.
//
// An eventfd, which outlives the process in the hands of whoever holds a duplicate (src/bootstrap/watch.h).
#pragma once

namespace fgmpi {

/// The descriptor of the mark, made at the first call; -1 when there is none to be had.
int farewell_fd();

/// Sets the mark, if it was made. Async-signal-safe.
void say_farewell();

}  // namespace fgmpi
