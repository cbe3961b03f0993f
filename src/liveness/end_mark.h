// The mark of a process that has ended in order, or has said why not: others that see it end then
// add nothing.
//
// An eventfd. It outlives the process in the hands of whoever holds a duplicate
// (src/liveness/watch.h), so the mark is there whenever it is looked at after the end.
#pragma once

namespace fgmpi::liveness {

/// The descriptor of the mark, made at the first call; -1 when there is none to be had. From then
/// on leave_end_mark() (base/end_hooks.h) sets it.
int end_mark_fd();

}  // namespace fgmpi::liveness
