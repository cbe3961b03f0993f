// The mark of a process that has ended in order, or has reported why not: other processes that see
// its end then report nothing.
//
// The mark is an eventfd. It outlives the process in every process that has a duplicate
// (src/liveness/watch.h), so it can be read at any time after the end.
#pragma once

namespace fgmpi::liveness {

/// The descriptor of the mark, made at the first call; -1 when none can be made. From then on
/// leave_end_mark() (base/end_hooks.h) sets it.
int end_mark_fd();

}  // namespace fgmpi::liveness
